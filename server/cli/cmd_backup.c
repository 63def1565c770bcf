/* framezero backup: the database, the symbol files and the first tokens into a folder, while serving. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "server/cli/backup_files.h"
#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/config/term.h"
#include "server/serve/setup.h"
#include "storage/store_blobs.h"

/* Files that are deleted between the copy of the database and theirs are in no later copy of it. */
enum { TRIES = 3 };

struct backup {
    const struct config *config;
    const char *dir;
    struct blob_store *from, *to;
    struct backup_facts facts;
    uint64_t n_missing, n_damaged;
};

/* ---- the database ---- */

static void
on_copied(void *user FZ_UNUSED, uint64_t copied, uint64_t total)
{
    backup_progress("database:", copied, total);
}

static enum fz_code
copy_database(const struct backup *b, const char *path, struct fz_error *err)
{
    FZ_CLEANUP(store_closep) struct store *store = NULL;
    if (unlink(path) != 0 && errno != ENOENT)
        return fz_fail_errno(err, "cannot delete %s", path);
    enum fz_code code = store_open(b->config->database, &store, err);
    if (code == FZ_OK)
        code = store_copy(store, path, on_copied, NULL, err);
    backup_progress_end();
    return code;
}

/* ---- blobs ---- */

static enum fz_code
on_blob(void *user, const char *sha256, struct fz_error *err)
{
    struct backup *b = user;
    uint64_t bytes = 0;
    enum fz_code code = blob_copy(b->from, b->to, sha256, &bytes, err);
    b->facts.n_blobs += code == FZ_OK;
    b->facts.blob_bytes += bytes;
    b->n_missing += code == FZ_E_NOT_FOUND;
    b->n_damaged += code == FZ_E_MALFORMED;
    if (code == FZ_E_MALFORMED)
        term_warn("backup", "%s: it is left out; upload the symbol file again", err->text);
    backup_progress("symbol files:", b->facts.blob_bytes, 0);
    return code == FZ_E_NOT_FOUND || code == FZ_E_MALFORMED ? FZ_OK : code;
}

/* What the copy of the database names. It is checked here, and not when it is needed. */
static enum fz_code
copy_blobs(struct backup *b, const char *database, struct fz_error *err)
{
    char url[BACKUP_PATH + 8];
    FZ_CLEANUP(store_closep) struct store *store = NULL;
    snprintf(url, sizeof(url), "sqlite:%s", database);
    enum fz_code code = store_open(url, &store, err);
    if (code == FZ_OK)
        code = store_check_pages(store, err);
    b->n_missing = b->n_damaged = b->facts.n_blobs = b->facts.blob_bytes = 0;
    if (code == FZ_OK)
        code = store_blob_names(store, on_blob, b, err);
    backup_progress_end();
    return code;
}

/* ---- all of it ---- */

static enum fz_code
finish(struct backup *b, const char *unfinished, struct fz_error *err)
{
    char from[BACKUP_PATH], to[BACKUP_PATH];
    backup_path(b->dir, "framezero.db", to);
    enum fz_code code =
        backup_hash(unfinished, &b->facts.database_bytes, b->facts.database_sha256, err);
    if (code == FZ_OK && rename(unfinished, to) != 0)
        code = fz_fail_errno(err, "cannot create %s", to);
    backup_path(b->config->data_dir, "credentials.json", from);
    backup_path(b->dir, "credentials.json", to);
    if (code == FZ_OK && access(from, F_OK) == 0)
        code = backup_copy_file(from, to, err);
    return code == FZ_OK ? backup_write_facts(b->dir, &b->facts, err) : code;
}

static enum fz_code
make(struct backup *b, struct fz_error *err)
{
    char unfinished[BACKUP_PATH];
    backup_path(b->dir, "framezero.db.unfinished", unfinished);
    enum fz_code code = FZ_OK;
    b->n_missing = 1;
    for (int i = 0; code == FZ_OK && b->n_missing > 0 && i < TRIES; i++) {
        code = copy_database(b, unfinished, err);
        if (code == FZ_OK)
            code = copy_blobs(b, unfinished, err);
    }
    if (code == FZ_OK && b->n_missing > 0)
        term_warn("backup",
                  "%" PRIu64 " files that the database names are not in %s: upload these symbol "
                  "files again",
                  b->n_missing, b->config->blobs);
    return code == FZ_OK ? finish(b, unfinished, err) : code;
}

static enum fz_code
start(struct backup *b, struct fz_error *err)
{
    char folder[BACKUP_PATH + 8], cache[PATH_MAX];
    struct blob_config from = serve_setup_blob_config(b->config, cache);
    const struct blob_config to = {.url = folder};
    const char *database;
    from.cache_bytes = 0; /* copies of all would drive out those that are in use */
    enum fz_code code = backup_database(b->config, &database, err);
    if (code != FZ_OK)
        return code;
    if (backup_is_whole(b->dir))
        return fz_fail(err, FZ_E_CONFLICT,
                       "%s already holds a backup: name another folder, or delete that one",
                       b->dir);
    snprintf(folder, sizeof(folder), "file:%s/blobs", b->dir);
    code = blob_open(&from, &b->from, err);
    if (code == FZ_OK)
        code = fz_file_make_dirs(b->dir, err);
    return code == FZ_OK ? blob_open(&to, &b->to, err) : code;
}

static int
run(const struct command_call *call)
{
    struct config config;
    struct fz_error err;
    struct backup b = {.config = &config, .dir = call->operands[0]};
    if (!command_config(call, false, &config))
        return 2;
    enum fz_code code = start(&b, &err);
    if (code == FZ_OK)
        code = make(&b, &err);
    blob_close(b.from);
    blob_close(b.to);
    if (code != FZ_OK)
        return term_failed(cmd_backup.name, &err);
    printf("%s: a database of %" PRIu64 " bytes and %" PRIu64 " symbol files and indexes\n", b.dir,
           b.facts.database_bytes, b.facts.n_blobs);
    return b.n_missing + b.n_damaged > 0 || !term_finish_output(cmd_backup.name);
}

static const struct command_example examples[] = {
    {"framezero backup /backup/2026-01-31", "what is in ./framezero-data now"},
    {NULL, NULL},
};

const struct command_spec cmd_backup = {
    .name = "backup",
    .summary = "copy everything into a folder while the server runs",
    .operands = "DIR",
    .complete = "dir",
    .flags = COMMAND_NEEDS_OPERANDS,
    .description =
        "Copy the SQLite database as it is at one moment, the symbol files and indexes that it "
        "names, and credentials.json into the folder DIR. A server may run meanwhile. An "
        "interrupted backup is continued by the same command, which reads what is there already: "
        "damaged files are copied again.\n\n"
        "The copy is checked: pages of the database, and the hash of each file. Exit code 1 means "
        "that there is no backup, or that the warnings name what it lacks.\n\n"
        "A database of PostgreSQL is copied with pg_dump: docs/backup.md.",
    .examples = examples,
    .settings = config_settings,
    .role = CONFIG_STORE,
    .run = run,
};
