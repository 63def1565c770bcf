/*
 * framezero upload: every symbol file under some paths to a server, but only what it lacks.
 *
 * Each slice is sent by itself, so that of a fat file with two known architectures and a new one
 * only the new one travels, and archives need not be read twice.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/text.h"
#include "server/cmd.h"
#include "server/command.h"
#include "server/term.h"
#include "server/upload_client.h"
#include "server/upload_pack.h"
#include "symbolicator/symfile.h"

enum { TARGET_ROOM = 1024 };

/* Mach-O file types that run or describe what runs (loader.h); object files and cores do not. */
enum { MH_EXECUTE = 2, MH_DYLIB = 6, MH_DYLINKER = 7, MH_BUNDLE = 8, MH_DSYM = 10, MH_KEXT = 11 };

struct arguments {
    const char *server, *token, *project;
    bool force;
};

struct tally {
    size_t n_found, n_sent, n_known, n_failed;
    uint64_t bytes, unblocked;
};

struct target { /* what of the credentials file is used */
    char server[TARGET_ROOM], token[TARGET_ROOM];
};

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

static void
tell_problems(const char *path, const struct sym_problems *problems)
{
    for (size_t i = 0; i < problems->n; i++)
        fprintf(stderr, "%s: %s (%s)\n", path, problems->list[i].text, problems->list[i].kind);
}

/* What the server found wrong with a file. */
static void
tell_answer(const json_t *answer, struct tally *tally)
{
    size_t i, j;
    json_t *file, *problem;
    tally->unblocked += (uint64_t)json_integer_value(json_object_get(answer, "unblocked_reports"));
    json_array_foreach(json_object_get(answer, "files"), i, file)
    {
        json_array_foreach(json_object_get(file, "problems"), j, problem)
        {
            const char *text = json_string_value(problem);
            if (!text)
                text = json_string_value(json_object_get(problem, "text"));
            if (text)
                fprintf(stderr, "    %s\n", text);
        }
    }
}

static void
send_slice(struct upload_client *client, const struct sym_file_slice *slice, struct tally *tally)
{
    struct fz_error err;
    json_auto_t *answer = NULL;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer packed = fz_buffer_make(0);
    struct fz_span bytes = slice->macho.bytes;
    char uuid[FZ_UUID_DASHED];
    fz_uuid_format_dashed(&slice->macho.uuid, uuid);
    fprintf(stderr, "%s %s %s, %.1f MB\n", uuid, slice->arch, slice->path,
            (double)slice->macho.bytes.len / 1e6);
    enum fz_code code = FZ_OK;
    if (slice->symbol_map) {
        upload_pack(slice, &packed);
        code = fz_buffer_done(&packed, &err);
        bytes = fz_buffer_span(&packed);
    }
    if (code == FZ_OK)
        code = upload_client_send(client, fz_text_base_name(slice->path), bytes, &answer, &err);
    if (code != FZ_OK) {
        fprintf(stderr, "    not stored: %s\n", err.text);
        tally->n_failed++;
        return;
    }
    tell_answer(answer, tally);
    tally->n_sent++;
    tally->bytes += slice->macho.bytes.len;
}

/* All slices of one kind: ask what is missing, send it. */
static enum fz_code
send_kind(struct upload_client *client, const struct sym_file *file, const char *kind,
          const struct arguments *options, struct tally *tally, struct fz_error *err)
{
    const struct sym_file_slice **slices = calloc(file->n_slices, sizeof(struct sym_file_slice *));
    struct fz_uuid *uuids = calloc(file->n_slices, sizeof(*uuids));
    bool *missing = calloc(file->n_slices, sizeof(*missing));
    enum fz_code code =
        slices && uuids && missing ? FZ_OK : fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    size_t n = 0;
    for (size_t i = 0; !code && i < file->n_slices; i++) {
        const struct sym_file_slice *slice = file->slices[i];
        if (!is_symbol_file(&slice->macho) || strcmp(sym_macho_kind(&slice->macho), kind) != 0)
            continue;
        if (!slice->macho.has_uuid) {
            fprintf(stderr, "%s: %s has no UUID, so no report could ever name it: not sent\n",
                    slice->path, slice->arch);
            tally->n_found++;
            tally->n_failed++;
            continue;
        }
        slices[n] = slice;
        uuids[n++] = slice->macho.uuid;
    }
    tally->n_found += n;
    if (!code && n > 0)
        code = upload_client_missing(client, kind, uuids, n, missing, err);
    for (size_t i = 0; !code && i < n; i++) {
        if (missing[i] || options->force)
            send_slice(client, slices[i], tally);
        else
            tally->n_known++;
    }
    free(slices);
    free(uuids);
    free(missing);
    return code;
}

static enum fz_code
send_path(struct upload_client *client, const char *path, const struct arguments *options,
          struct tally *tally, struct fz_error *err)
{
    FZ_CLEANUP(sym_file_closep) struct sym_file *file = NULL;
    enum fz_code code = sym_file_open(path, &file, err);
    if (code)
        return code;
    tell_problems(path, &file->problems);
    tally->n_failed += file->problems.n > 0;
    code = send_kind(client, file, "dsym", options, tally, err);
    if (!code)
        code = send_kind(client, file, "binary", options, tally, err);
    return code;
}

/* ---- where to ---------------------------------------------------------------------------- */

/* Flags, then variables, then the credentials file of a server on this machine. */
static enum fz_code
find_target(const struct arguments *options, const struct config *config, struct target *ret,
            struct fz_error *err)
{
    const char *server = options->server ? options->server : getenv("FRAMEZERO_URL");
    const char *token = options->token ? options->token : getenv("FRAMEZERO_TOKEN");
    char path[PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s/credentials.json", config->data_dir);
    json_auto_t *root = server && token ? NULL : json_load_file(path, 0, NULL);
    if (!server)
        server = json_string_value(json_object_get(root, "url"));
    if (!token)
        token = json_string_value(json_object_get(root, "admin_token"));
    if (!server || !token)
        return fz_fail(err, FZ_E_NOT_FOUND,
                       "no %s: give --server URL and --token TOKEN, or FRAMEZERO_URL and "
                       "FRAMEZERO_TOKEN, or --data DIR of a server here (%s cannot be read)",
                       server ? "token" : "server", path);
    if (fz_address_check_url(server, err))
        return fz_wrap(err, "%s",
                       options->server           ? "--server"
                       : getenv("FRAMEZERO_URL") ? "FRAMEZERO_URL"
                                                 : path);
    snprintf(ret->server, sizeof(ret->server), "%s", server);
    snprintf(ret->token, sizeof(ret->token), "%s", token);
    for (size_t len = strlen(ret->server); len > 0 && ret->server[len - 1] == '/'; len--)
        ret->server[len - 1] = '\0';
    return FZ_OK;
}

static int
upload(const struct arguments *options, const struct config *config, const char **paths,
       size_t n_paths)
{
    FZ_CLEANUP(upload_client_closep) struct upload_client *client = NULL;
    struct tally tally = {0};
    struct target target;
    struct fz_error err;
    enum fz_code code = find_target(options, config, &target, &err);
    const struct upload_client_config to = {.server = target.server,
                                            .token = target.token,
                                            .project = options->project,
                                            .show_progress = isatty(STDERR_FILENO) == 1};
    if (!code)
        code = upload_client_open(&to, &client, &err);
    for (size_t i = 0; !code && i < n_paths; i++)
        code = send_path(client, paths[i], options, &tally, &err);
    if (code) {
        fprintf(stderr, "framezero upload: %s\n", err.text);
        tally.n_failed++;
    }
    printf("%zu found, %zu sent (%.1f MB), %zu known before, %zu failed; %" PRIu64
           " reports unblocked\n",
           tally.n_found, tally.n_sent, (double)tally.bytes / 1e6, tally.n_known, tally.n_failed,
           tally.unblocked);
    return tally.n_failed > 0 || tally.n_found == 0 ? 1 : 0;
}

static enum fz_code
set_url(const struct option_spec *option, void *field, const char *value, const char *where,
        struct fz_error *err)
{
    if (fz_address_check_url(value, err))
        return fz_wrap(err, "%s", where);
    return option_set_text(option, field, value, where, err);
}

static const struct option_spec own_options[] = {
    {.name = "server",
     .argument = "URL",
     .set = set_url,
     .offset = offsetof(struct arguments, server),
     .variable = "FRAMEZERO_URL",
     .fallback = "from DIR/credentials.json",
     .help = "The server, such as https://crashes.example.com."},
    {.name = "token",
     .argument = "TOKEN",
     .set = option_set_text,
     .offset = offsetof(struct arguments, token),
     .variable = "FRAMEZERO_TOKEN",
     .fallback = "from DIR/credentials.json",
     .help = "A token with the scope 'upload'."},
    {.name = "project",
     .argument = "NAME",
     .set = option_set_text,
     .offset = offsetof(struct arguments, project),
     .fallback = "default",
     .help = "The project, for a token of all projects."},
    {.name = "force",
     .set = option_set_flag,
     .offset = offsetof(struct arguments, force),
     .help = "Send also what the server has."},
    {.name = NULL},
};
static const struct command_example examples[] = {
    {"framezero upload Shop.xcarchive --server https://crashes.example.com --token $TOKEN",
     "everything in an archive that the server lacks"},
    {"framezero upload .", "everything in this folder, to the server on this machine"},
    {NULL, NULL},
};
static int run(int argc, char **argv);
const struct command_spec cmd_upload = {
    .name = "upload",
    .summary = "send the dSYMs and binaries under some paths to a server",
    .operands = "PATH...",
    .complete = "file",
    .flags = COMMAND_NEEDS_OPERANDS,
    .description =
        "Send every dSYM and Mach-O found under PATH (a file, bundle, .xcarchive, folder or "
        "zip) that the server lacks. Exit status 0 only if everything found is stored.",
    .options = own_options,
    .settings = config_settings,
    .role = CONFIG_UPLOAD,
    .examples = examples,
    .run = run,
};

static int
run(int argc, char **argv)
{
    FZ_CLEANUP(options_deinit) struct options given = options_make();
    struct arguments arguments = {.force = false};
    struct config config;
    int ended = command_start(&cmd_upload, argc, argv, &arguments, &given);
    if (ended < 0)
        ended = command_config(&cmd_upload, argc, argv, false, &config);
    if (ended >= 0)
        return ended;
    return upload(&arguments, &config, given.operands, given.n_operands);
}
