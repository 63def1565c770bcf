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

#include "base/text.h"
#include "server/cmd.h"
#include "server/config.h"
#include "server/upload_client.h"
#include "server/upload_pack.h"
#include "symbolicator/symfile.h"

enum { TARGET_ROOM = 1024 };

/* Mach-O file types that run or describe what runs (loader.h); object files and cores do not. */
enum { MH_EXECUTE = 2, MH_DYLIB = 6, MH_DYLINKER = 7, MH_BUNDLE = 8, MH_DSYM = 10, MH_KEXT = 11 };

struct options {
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
          const struct options *options, struct tally *tally, struct fz_error *err)
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
send_path(struct upload_client *client, const char *path, const struct options *options,
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
find_target(const struct options *options, const struct config *config, struct target *ret,
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
    if (!fz_text_has_prefix(server, "http://") && !fz_text_has_prefix(server, "https://"))
        return fz_fail(err, FZ_E_MALFORMED,
                       "--server: '%.100s' begins with neither http:// nor "
                       "https://",
                       server);
    snprintf(ret->server, sizeof(ret->server), "%s", server);
    snprintf(ret->token, sizeof(ret->token), "%s", token);
    for (size_t len = strlen(ret->server); len > 0 && ret->server[len - 1] == '/'; len--)
        ret->server[len - 1] = '\0';
    return FZ_OK;
}

static int
usage(FILE *to)
{
    fprintf(to,
            "usage: framezero upload [OPTIONS] PATH...\n\n"
            "Sends every dSYM and Mach-O found under PATH (file, bundle, .xcarchive, folder, zip)\n"
            "that the server lacks. Exit 0 only if all that was found is stored.\n\n"
            "  --server URL    FRAMEZERO_URL    else from --data DIR/credentials.json\n"
            "  --token TOKEN   FRAMEZERO_TOKEN  the same; needs the scope 'upload'\n"
            "  --project NAME                   for a token of all projects; default 'default'\n"
            "  --force                          send what the server has, too\n");
    return to == stdout ? 0 : 2;
}

/* Paths stand between the options; they are moved to the front of argv. */
static int
take_paths(int *argc, char **argv, char **ret_paths)
{
    int n_paths = 0, kept = 1;
    for (int i = 1; i < *argc; i++) {
        bool has_value = strncmp(argv[i], "--", 2) == 0 && !strchr(argv[i], '=');
        if (argv[i][0] != '-') {
            ret_paths[n_paths++] = argv[i];
            continue;
        }
        argv[kept++] = argv[i];
        if (has_value && i + 1 < *argc)
            argv[kept++] = argv[++i];
    }
    *argc = kept;
    return n_paths;
}

static int
upload(const struct options *options, const struct config *config, char **paths, int n_paths)
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
    for (int i = 0; !code && i < n_paths; i++)
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

int
cmd_upload(int argc, char **argv)
{
    static const char *const allowed[] = {"data", NULL};
    struct options options = {0};
    struct config config;
    struct fz_error err;
    if (config_take_flag(&argc, argv, "help"))
        return usage(stdout);
    options.force = config_take_flag(&argc, argv, "force");
    char **paths = calloc((size_t)argc + 1, sizeof(*paths));
    if (!paths)
        return 1;
    int n_paths = 0, result = 2;
    if (config_take_value(&argc, argv, "server", &options.server, &err) ||
        config_take_value(&argc, argv, "token", &options.token, &err) ||
        config_take_value(&argc, argv, "project", &options.project, &err))
        fprintf(stderr, "framezero upload: %s\n", err.text);
    else if ((n_paths = take_paths(&argc, argv, paths)) == 0)
        result = usage(stderr);
    else if (config_load(argc, argv, allowed, &config, &err))
        fprintf(stderr, "framezero upload: %s\n", err.text);
    else
        result = upload(&options, &config, paths, n_paths);
    free(paths);
    return result;
}
