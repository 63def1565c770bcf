/* framezero copy: the database of an installation into PostgreSQL, and its symbol files and indexes to another place. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/list.h"
#include "server/cli/backup_files.h"
#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/config/term.h"
#include "server/serve/setup.h"
#include "storage/store_blobs.h"
#include "storage/store_transfer.h"

struct request {
    const char *from, *to;             /* URLs; `from` NULL: the setting database */
    const char *blobs_from, *blobs_to; /* the same of blobs */
};

struct copy {
    struct blob_store *from, *to;
    char (*names)[FZ_SHA256_TEXT];
    size_t n, room;
    uint64_t n_copied, n_left_out, bytes;
};

/* In memory, since a query that is open for hours keeps a database from tidying up. */
static enum fz_code
on_name(void *user, const char *sha256, struct fz_error *err)
{
    struct copy *c = user;
    char(*names)[FZ_SHA256_TEXT] =
        fz_list_grow(NULL, c->names, &c->room, c->n + 1, sizeof(c->names[0]));
    if (!names)
        return fz_budget_fail(NULL, err);
    c->names = names;
    memcpy(c->names[c->n++], sha256, FZ_SHA256_TEXT);
    return FZ_OK;
}

static enum fz_code
copy_all(struct copy *c, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < c->n; i++) {
        uint64_t bytes = 0;
        code = blob_copy(c->from, c->to, c->names[i], &bytes, err);
        if (code == FZ_E_MALFORMED || code == FZ_E_NOT_FOUND) {
            term_warn("copy", "%s: %s: it is left out; upload the symbol file again", c->names[i],
                      err->text);
            c->n_left_out++;
            code = FZ_OK;
            continue;
        }
        c->n_copied += code == FZ_OK;
        c->bytes += bytes;
        backup_progress("symbol files:", c->bytes, 0);
    }
    backup_progress_end();
    return code;
}

static enum fz_code
open_ready(const struct config *config, const char *url, struct blob_store **ret,
           struct fz_error *err)
{
    char cache[PATH_MAX];
    bool may_pass;
    struct blob_config setup = serve_setup_blob_config(config, cache);
    setup.url = url;
    setup.cache_bytes = 0; /* copies of all would drive out those that are in use */
    enum fz_code code = blob_open(&setup, ret, err);
    return code == FZ_OK ? blob_ready(*ret, &may_pass, err) : code;
}

static enum fz_code
copy_blobs(struct copy *c, const struct request *request, const struct config *config,
           struct fz_error *err)
{
    FZ_CLEANUP(store_closep) struct store *store = NULL;
    const char *from = request->blobs_from ? request->blobs_from : config->blobs;
    if (strcmp(from, request->blobs_to) == 0)
        return fz_fail(err, FZ_E_CONFLICT, "--blobs-to is where the files are: %s", from);
    enum fz_code code = store_open(request->to ? request->to : config->database, &store, err);
    if (code == FZ_OK)
        code = store_blob_names(store, on_name, c, err);
    if (code == FZ_OK)
        code = open_ready(config, from, &c->from, err);
    if (code == FZ_OK)
        code = open_ready(config, request->blobs_to, &c->to, err);
    return code == FZ_OK ? copy_all(c, err) : code;
}

/* ---- the database ---- */

static void
on_progress(void *user FZ_UNUSED, enum store_transfer_step step, const char *what, uint64_t done,
            uint64_t total)
{
    static const char *const words[] = {[STORE_TRANSFER_COPY] = "rows copied",
                                        [STORE_TRANSFER_COMPARE] = "rows compared",
                                        [STORE_TRANSFER_INDEX] = "indexes and keys made"};
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[Kcopy: %s: %" PRIu64 " of %" PRIu64 " %s", what, done, total,
                words[step]);
}

static enum fz_code
copy_database(const struct request *request, const struct config *config, struct fz_error *err)
{
    const char *from = request->from ? request->from : config->database;
    const struct store_transfer_watch watch = {on_progress, NULL};
    struct store_transfer_result result = {0};
    char url[256];
    FZ_CLEANUP(fz_closep) int lock_fd = -1;
    /* A server would change what was copied already. */
    enum fz_code code = serve_setup_lock(from, &lock_fd, err);
    if (code == FZ_OK)
        code = store_transfer(from, request->to, &watch, &result, err);
    backup_progress_end();
    if (code != FZ_OK)
        return code;
    config_hide_password(request->to, url, sizeof(url));
    printf("%s: %" PRIu64 " rows of %" PRIu64 " tables, compared with the old database%s\n", url,
           result.n_rows, result.n_tables,
           result.has_gone_on ? "; this copy was begun earlier" : "");
    return FZ_OK;
}

/* ---- the command ---- */

static int
run(const struct command_call *call)
{
    const struct request *request = call->values;
    struct config config;
    struct fz_error err;
    struct copy c = {.names = NULL};
    if (!command_config(call, false, &config))
        return 2;
    if (!request->to && !request->blobs_to) {
        term_error(call->command->name,
                   "--to or --blobs-to says where to; see framezero copy --help");
        return 2;
    }
    enum fz_code code = request->to ? copy_database(request, &config, &err) : FZ_OK;
    if (code == FZ_OK && request->blobs_to)
        code = copy_blobs(&c, request, &config, &err);
    blob_close(c.from);
    blob_close(c.to);
    free(c.names);
    if (code != FZ_OK)
        return term_failed(call->command->name, &err);
    if (request->blobs_to)
        printf("%s: %" PRIu64 " symbol files and indexes of %" PRIu64 " bytes\n", request->blobs_to,
               c.n_copied, c.bytes);
    return c.n_left_out > 0 || !term_finish_output(call->command->name);
}

static const struct option_spec options[] = {
    {.name = "from",
     .argument = "URL",
     .offset = offsetof(struct request, from),
     .help = "The database as it is, sqlite:PATH; without it, the setting database."},
    {.name = "to",
     .argument = "URL",
     .offset = offsetof(struct request, to),
     .help = "An empty database of PostgreSQL that it goes into: postgresql://USER@HOST/DATABASE."},
    {.name = "blobs-from",
     .argument = "URL",
     .offset = offsetof(struct request, blobs_from),
     .help = "Where symbol files and indexes are; without it, the setting blobs."},
    {.name = "blobs-to",
     .argument = "URL",
     .offset = offsetof(struct request, blobs_to),
     .help = "Where they go: file:DIR or s3://BUCKET/PREFIX (docs/s3.md)."},
    {.name = NULL},
};

static const struct command_example examples[] = {
    {"framezero copy --blobs-to 's3://bucket/framezero?region=eu-west-1'",
     "symbol files from ./framezero-data into an object store"},
    {"framezero copy --from sqlite:framezero-data/framezero.db --to "
     "postgresql://framezero@db/framezero",
     "the database into PostgreSQL"},
    {NULL, NULL},
};

const struct command_spec cmd_copy = {
    .name = "copy",
    .summary = "the database to PostgreSQL, symbol files to another place",
    .operands = "",
    .required = "--to URL | --blobs-to URL",
    .description =
        "With --to, copy a database of SQLite into an empty database of PostgreSQL. Stop the "
        "server "
        "first; it cannot be started meanwhile, nor on the new database before all is there. The "
        "same command continues a copy that was interrupted. At the end each table is compared "
        "with the old one, row by row.\n\n"
        "With --blobs-to, copy the symbol files and indexes that the database names to another "
        "place for blobs. A "
        "server may run meanwhile. The same command continues a copy that was interrupted, and "
        "adds what came since: it reads in full what is there already, and copies what is missing "
        "or damaged. Each file is compared with its hash.\n\n"
        "Exit code 1 means that it failed, or that the warnings name what was left out.",
    .options = options,
    .values_size = sizeof(struct request),
    .examples = examples,
    .settings = config_settings,
    .role = CONFIG_STORE,
    .run = run,
};
