#include "server/cli/upload_send.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "server/cli/upload_archive.h"
#include "server/config/term.h"
#include "symbolicator/symbolicator.h"

static const char command[] = "upload";

/* Mach-O file types that run or describe what runs (loader.h); object files and cores do not. */
enum { MH_EXECUTE = 2, MH_DYLIB = 6, MH_DYLINKER = 7, MH_BUNDLE = 8, MH_DSYM = 10, MH_KEXT = 11 };

struct upload {
    struct upload_client *client;
    const struct sym_file *file;
    bool force;
    bool is_advised; /* that binaries give values of variables: said once */
    size_t n_found, n_sent, n_known, n_failed;
    uint64_t bytes, unblocked;
};

/* Slices of one kind, each UUID once. */
struct batch {
    const struct sym_file_slice **slices;
    struct fz_uuid *uuids;
    bool *missing;
    size_t n;
};

static void
batch_deinit(struct batch *batch)
{
    free(batch->slices);
    free(batch->uuids);
    free(batch->missing);
}

static struct batch
batch_make(size_t room)
{
    /* calloc() may answer NULL for no bytes, which would look like a failure. */
    room += room == 0;
    return (struct batch){.slices = calloc(room, sizeof(struct sym_file_slice *)),
                          .uuids = calloc(room, sizeof(struct fz_uuid)),
                          .missing = calloc(room, sizeof(bool))};
}

static bool
is_symbol_file(const struct sym_macho *macho)
{
    switch (macho->filetype) {
    case MH_EXECUTE:
    case MH_DYLIB:
    case MH_DYLINKER:
    case MH_BUNDLE:
    case MH_DSYM:
    case MH_KEXT:
        return true;
    default:
        return false;
    }
}

static bool
is_kind(const struct sym_file_slice *slice, const char *kind)
{
    return is_symbol_file(&slice->macho) &&
           sym_macho_is_dsym(&slice->macho) == (strcmp(kind, "dsym") == 0);
}

enum { SIZE_TEXT = 32 };

/* "0 bytes", "1.5 KB", "12.0 MB", "3.2 GB" */
static void
show_size(uint64_t bytes, char ret[SIZE_TEXT])
{
    static const char *const units[] = {"KB", "MB", "GB"};
    double shown = (double)bytes / 1000;
    size_t unit = 0;
    if (bytes < 1000) {
        snprintf(ret, SIZE_TEXT, "%" PRIu64 " byte%s", bytes, bytes == 1 ? "" : "s");
        return;
    }
    /* 999.95 is where "%.1f" begins to print 1000.0. */
    for (; shown >= 999.95 && unit + 1 < FZ_ARRAY_LEN(units); unit++)
        shown /= 1000;
    snprintf(ret, SIZE_TEXT, "%.1f %s", shown, units[unit]);
}

/* ---- what the server says ---------------------------------------------------------------- */

/* Is the dSYM of this binary on the server, from this run or from before? */
static bool
has_dsym(struct upload *upload, const struct sym_file_slice *slice)
{
    /* On a failure too: the hint is then shown once too often rather than not at all. */
    bool missing = true;
    struct fz_error err;
    return upload_client_missing(upload->client, "dsym", &slice->macho.uuid, 1, &missing, &err) ==
               FZ_OK &&
           !missing;
}

/* "Upload its dSYM too" is not what somebody wants to read who has just done so. */
static bool
is_solved(struct upload *upload, const struct sym_file_slice *slice, const json_t *problem)
{
    const char *kind = json_string_value(json_object_get(problem, "kind"));
    return kind && strcmp(kind, "no_dwarf") == 0 && is_kind(slice, "binary") &&
           has_dsym(upload, slice);
}

/* Is the binary of this dSYM sent in this run, too? */
static bool
brings_binary(const struct upload *upload, const struct sym_file_slice *slice)
{
    for (size_t i = 0; i < upload->file->n_slices; i++) {
        const struct sym_file_slice *other = upload->file->slices[i];
        if (is_kind(other, "binary") && other->macho.has_uuid &&
            fz_uuid_equal(&other->macho.uuid, &slice->macho.uuid))
            return true;
    }
    return false;
}

/* What would make a file that is fine more useful. */
static void
show_advice(struct upload *upload, const struct sym_file_slice *slice, const json_t *verdict)
{
    const char *word = json_string_value(json_object_get(verdict, "code"));
    const char *todo = json_string_value(json_object_get(verdict, "todo"));
    if (!word || !todo || strcmp(word, "ok") != 0 || upload->is_advised ||
        brings_binary(upload, slice))
        return;
    upload->is_advised = true;
    fprintf(stderr, "    %s\n", todo);
}

/* What the server found wrong with a file. */
static void
show_answer(struct upload *upload, const struct sym_file_slice *slice, const json_t *answer)
{
    size_t i, j;
    json_t *file, *problem;
    upload->unblocked += (uint64_t)json_integer_value(json_object_get(answer, "unblocked_reports"));
    json_array_foreach(json_object_get(answer, "files"), i, file)
    {
        json_array_foreach(json_object_get(file, "problems"), j, problem)
        {
            const char *text = json_string_value(problem);
            if (!text)
                text = json_string_value(json_object_get(problem, "text"));
            if (text && !is_solved(upload, slice, problem))
                fprintf(stderr, "    %s\n", text);
        }
        show_advice(upload, slice, json_object_get(file, "verdict"));
    }
}

/* ---- sending ----------------------------------------------------------------------------- */

static void
send_slice(struct upload *upload, const struct sym_file_slice *slice)
{
    struct fz_error err;
    json_auto_t *answer = NULL;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer packed = fz_buffer_make(0);
    struct fz_span bytes = slice->macho.bytes;
    char uuid[FZ_UUID_DASHED], size[SIZE_TEXT];
    fz_uuid_format_dashed(&slice->macho.uuid, uuid);
    show_size(slice->macho.bytes.len, size);
    fprintf(stderr, "%s %s %s, %s\n", uuid, slice->arch, slice->path, size);
    enum fz_code code = FZ_OK;
    /* In one upload: a slice alone would be indexed with its hidden names first, and then again. */
    if (slice->symbol_map) {
        upload_archive(slice, &packed);
        code = fz_buffer_done(&packed, &err);
        bytes = fz_buffer_span(&packed);
    }
    if (code == FZ_OK)
        code = upload_client_send(upload->client, fz_text_base_name(slice->path), bytes, &answer,
                                  &err);
    if (code != FZ_OK) {
        fprintf(stderr, "    not stored: %s\n", err.text);
        upload->n_failed++;
        return;
    }
    show_answer(upload, slice, answer);
    upload->n_sent++;
    upload->bytes += slice->macho.bytes.len;
}

/* The server has the slice, but perhaps from a time when its BCSymbolMap was not there: the map
 * alone is sent, which gives the names to the slice. */
static enum fz_code
send_map(struct upload *upload, const struct sym_file_slice *slice, struct fz_error *err)
{
    bool missing = false;
    json_auto_t *answer = NULL;
    char uuid[FZ_UUID_DASHED], name[FZ_UUID_DASHED + 16], size[SIZE_TEXT];
    enum fz_code code =
        upload_client_missing(upload->client, "bcsymbolmap", &slice->macho.uuid, 1, &missing, err);
    if (code != FZ_OK || !missing)
        return code;
    fz_uuid_format_dashed(&slice->macho.uuid, uuid);
    snprintf(name, sizeof(name), "%s.bcsymbolmap", uuid);
    show_size(slice->symbol_map_bytes.len, size);
    fprintf(stderr, "%s %s the BCSymbolMap of %s, %s\n", uuid, slice->arch, slice->path, size);
    code = upload_client_send(upload->client, name, slice->symbol_map_bytes, &answer, err);
    if (code == FZ_OK)
        show_answer(upload, slice, answer);
    return code;
}

static bool
is_in(const struct batch *batch, const struct fz_uuid *uuid)
{
    for (size_t i = 0; i < batch->n; i++) {
        if (fz_uuid_equal(&batch->uuids[i], uuid))
            return true;
    }
    return false;
}

static void
collect(struct upload *upload, const char *kind, struct batch *batch)
{
    for (size_t i = 0; i < upload->file->n_slices; i++) {
        const struct sym_file_slice *slice = upload->file->slices[i];
        if (!is_kind(slice, kind))
            continue;
        if (!slice->macho.has_uuid) {
            fprintf(stderr, "%s: %s has no UUID, so no report could ever name it: not sent\n",
                    slice->path, slice->arch);
            upload->n_found++;
            upload->n_failed++;
        } else if (!is_in(batch, &slice->macho.uuid)) { /* a dSYM and its zip may be side by side */
            /* Of several with one UUID the best one: that with DWARF, and whole. */
            const struct sym_file_slice *best = sym_file_find(upload->file, &slice->macho.uuid);
            batch->slices[batch->n] = is_kind(best, kind) ? best : slice;
            batch->uuids[batch->n++] = slice->macho.uuid;
        }
    }
    upload->n_found += batch->n;
}

/* All slices of one kind: ask what is missing, send it. */
static enum fz_code
send_kind(struct upload *upload, const char *kind, struct fz_error *err)
{
    FZ_CLEANUP(batch_deinit) struct batch batch = batch_make(upload->file->n_slices);
    if (!batch.slices || !batch.uuids || !batch.missing)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    collect(upload, kind, &batch);
    enum fz_code code = FZ_OK;
    if (batch.n > 0)
        code =
            upload_client_missing(upload->client, kind, batch.uuids, batch.n, batch.missing, err);
    for (size_t i = 0; !code && i < batch.n; i++) {
        if (batch.missing[i] || upload->force) {
            send_slice(upload, batch.slices[i]);
            continue;
        }
        upload->n_known++;
        if (batch.slices[i]->symbol_map)
            code = send_map(upload, batch.slices[i], err);
    }
    return code;
}

/* ---- all of it --------------------------------------------------------------------------- */

static void
open_paths(struct upload *upload, struct sym_file *file, const char **paths, size_t n_paths)
{
    for (size_t i = 0; i < n_paths; i++) {
        struct fz_error err;
        size_t n_problems = file->problems.n;
        if (sym_file_add(file, paths[i], &err) == FZ_OK)
            continue;
        upload->n_failed++;
        /* A file that cannot be read is among the problems as well. */
        if (file->problems.n > n_problems)
            file->problems.n = n_problems;
        term_error(command, "%s", err.text);
    }
    for (size_t i = 0; i < file->problems.n; i++) {
        const struct sym_problem *problem = &file->problems.list[i];
        term_error(command, "%s%s", problem->text,
                   problem->count > 1 ? " (and others of this kind)" : "");
        upload->n_failed++;
    }
}

static void
show_summary(const struct upload *upload)
{
    char size[SIZE_TEXT];
    show_size(upload->bytes, size);
    printf("%zu found, %zu sent%s%s%s, %zu known before, %zu failed; %" PRIu64
           " report%s unblocked\n",
           upload->n_found, upload->n_sent, upload->n_sent ? " (" : "", upload->n_sent ? size : "",
           upload->n_sent ? ")" : "", upload->n_known, upload->n_failed, upload->unblocked,
           upload->unblocked == 1 ? "" : "s");
}

int
upload_send(const struct upload_client_config *to, const char **paths, size_t n_paths, bool force)
{
    FZ_CLEANUP(sym_file_closep) struct sym_file *file = NULL;
    FZ_CLEANUP(upload_client_closep) struct upload_client *client = NULL;
    struct fz_error err;
    enum fz_code code = sym_file_create(&file, &err);
    if (code == FZ_OK)
        code = upload_client_open(to, &client, &err);
    if (code != FZ_OK)
        return term_failed(command, &err);
    struct upload upload = {.client = client, .file = file, .force = force};
    open_paths(&upload, file, paths, n_paths);
    /* dSYMs first: that a binary has no debug information is not a problem once its dSYM is
     * there. */
    code = send_kind(&upload, "dsym", &err);
    if (code == FZ_OK)
        code = send_kind(&upload, "binary", &err);
    if (code != FZ_OK) {
        term_error(command, "%s", err.text);
        upload.n_failed++;
    }
    show_summary(&upload);
    return upload.n_failed > 0 || upload.n_found == 0 ? 1 : 0;
}
