/* framezero copy: the symbol files and indexes of an installation to another place for blobs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "server/cli/backup_files.h"
#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/config/term.h"
#include "server/serve/setup.h"
#include "storage/store_blobs.h"

struct request {
    const char *from, *to; /* URLs; `from` NULL: the setting blobs */
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
copy(struct copy *c, const struct request *request, const struct config *config,
     struct fz_error *err)
{
    FZ_CLEANUP(store_closep) struct store *store = NULL;
    const char *from = request->from ? request->from : config->blobs;
    if (strcmp(from, request->to) == 0)
        return fz_fail(err, FZ_E_CONFLICT, "--blobs-to is where the files are: %s", from);
    enum fz_code code = store_open(config->database, &store, err);
    if (code == FZ_OK)
        code = store_blob_names(store, on_name, c, err);
    if (code == FZ_OK)
        code = open_ready(config, from, &c->from, err);
    if (code == FZ_OK)
        code = open_ready(config, request->to, &c->to, err);
    return code == FZ_OK ? copy_all(c, err) : code;
}

static int
run(const struct command_call *call)
{
    const struct request *request = call->values;
    struct config config;
    struct fz_error err;
    struct copy c = {.names = NULL};
    if (!command_config(call, false, &config))
        return 2;
    if (!request->to) {
        term_error(call->command->name, "--blobs-to says where to; see framezero copy --help");
        return 2;
    }
    enum fz_code code = copy(&c, request, &config, &err);
    blob_close(c.from);
    blob_close(c.to);
    free(c.names);
    if (code != FZ_OK)
        return term_failed(call->command->name, &err);
    printf("%s: %" PRIu64 " symbol files and indexes of %" PRIu64 " bytes\n", request->to,
           c.n_copied, c.bytes);
    return c.n_left_out > 0 || !term_finish_output(call->command->name);
}

static const struct option_spec options[] = {
    {.name = "blobs-from",
     .argument = "URL",
     .offset = offsetof(struct request, from),
     .help = "Where they are; without it, the setting blobs."},
    {.name = "blobs-to",
     .argument = "URL",
     .offset = offsetof(struct request, to),
     .help = "Where they go: file:DIR or s3://BUCKET/PREFIX (docs/s3.md)."},
    {.name = NULL},
};

static const struct command_example examples[] = {
    {"framezero copy --blobs-to 's3://bucket/framezero?region=eu-west-1'",
     "from ./framezero-data into an object store"},
    {NULL, NULL},
};

const struct command_spec cmd_copy = {
    .name = "copy",
    .summary = "symbol files and indexes to another place",
    .operands = "",
    .required = "--blobs-to URL",
    .description =
        "Copy the symbol files and indexes that the database names to another place for blobs. A "
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
