/* framezero restore: what `framezero backup` copied, into a data folder that has no database. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "server/cli/backup_files.h"
#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/config/term.h"
#include "server/serve/setup.h"
#include "storage/blob/blob.h"

struct restore {
    const char *dir, *database;
    const struct config *config;
    struct blob_store *from, *to;
    uint64_t n_blobs, bytes;
};

/* ---- blobs ---- */

/* blobs/ab, blobs/ab/cd, blobs/ab/cd/<sha256>; blobs/tmp is not a part of the backup. */
static enum fz_code
on_entry(void *user, const char *path, const struct stat *st, struct fz_error *err)
{
    struct restore *r = user;
    const char *name = strrchr(path, '/') + 1;
    uint64_t bytes = 0;
    if (S_ISDIR(st->st_mode))
        return fz_text_is_hex(name, 2) ? fz_file_list(path, on_entry, r, err) : FZ_OK;
    if (!S_ISREG(st->st_mode) || !fz_text_is_hex(name, FZ_SHA256_TEXT - 1))
        return FZ_OK;
    enum fz_code code = blob_copy(r->from, r->to, name, &bytes, err);
    r->n_blobs += code == FZ_OK;
    r->bytes += bytes;
    backup_progress("symbol files:", r->bytes, 0);
    return code;
}

static enum fz_code
restore_blobs(struct restore *r, const struct backup_facts *facts, struct fz_error *err)
{
    char folder[BACKUP_PATH];
    backup_path(r->dir, "blobs", folder);
    enum fz_code code = fz_file_list(folder, on_entry, r, err);
    backup_progress_end();
    if (code == FZ_OK && r->n_blobs < facts->n_blobs)
        code = fz_fail(err, FZ_E_MALFORMED,
                       "%s: %" PRIu64 " of %" PRIu64 " symbol files and indexes are there; the "
                       "backup is not whole any more",
                       folder, r->n_blobs, facts->n_blobs);
    return code;
}

/* ---- the database ---- */

/* Under another name until everything else is there, so that no server starts on a part of it. */
static enum fz_code
restore_database(const struct restore *r, const char *unfinished, const struct backup_facts *facts,
                 struct fz_error *err)
{
    char from[BACKUP_PATH], found[FZ_SHA256_TEXT];
    uint64_t bytes = 0;
    backup_path(r->dir, "framezero.db", from);
    enum fz_code code = backup_copy_file(from, unfinished, err);
    if (code == FZ_OK)
        code = backup_hash(unfinished, &bytes, found, err);
    if (code == FZ_OK && strcmp(found, facts->database_sha256) != 0)
        code = fz_fail(err, FZ_E_MALFORMED,
                       "%s is not what was backed up: its SHA-256 is %s, and backup.json says %s",
                       from, found, facts->database_sha256);
    return code;
}

static enum fz_code
refuse(const char *path, struct fz_error *err)
{
    if (access(path, F_OK) != 0)
        return FZ_OK;
    return fz_fail(err, FZ_E_CONFLICT, "%s is there already: name an empty data folder with --data",
                   path);
}

static enum fz_code
restore(struct restore *r, struct backup_facts *facts, struct fz_error *err)
{
    char from[BACKUP_PATH], to[BACKUP_PATH], unfinished[BACKUP_PATH], folder[BACKUP_PATH];
    char cache[PATH_MAX];
    struct blob_config blobs = serve_setup_blob_config(r->config, cache);
    const struct blob_config backup = {.url = folder};
    blobs.cache_bytes = 0;
    enum fz_code code = backup_read_facts(r->dir, facts, err);
    backup_path(r->config->data_dir, "credentials.json", to);
    if (code == FZ_OK)
        code = backup_database(r->config, &r->database, err);
    if (code == FZ_OK)
        code = refuse(r->database, err);
    if (code == FZ_OK)
        code = refuse(to, err);
    if (code == FZ_OK)
        code = fz_file_make_dirs(r->config->data_dir, err);
    snprintf(folder, sizeof(folder), "file:%.*s/blobs", PATH_MAX, r->dir);
    if (code == FZ_OK)
        code = blob_open(&backup, &r->from, err);
    if (code == FZ_OK)
        code = blob_open(&blobs, &r->to, err);
    snprintf(unfinished, sizeof(unfinished), "%s.unfinished", r->database ? r->database : "");
    if (code == FZ_OK)
        code = restore_database(r, unfinished, facts, err);
    if (code == FZ_OK)
        code = restore_blobs(r, facts, err);
    backup_path(r->dir, "credentials.json", from);
    if (code == FZ_OK && rename(unfinished, r->database) != 0)
        code = fz_fail_errno(err, "cannot create %s", r->database);
    if (code == FZ_OK)
        code = fz_file_sync_parent(r->database, err);
    /* After the database: a first start takes tokens without one for a lost database. */
    if (code == FZ_OK && access(from, F_OK) == 0)
        code = backup_copy_file(from, to, err);
    return code;
}

static int
run(const struct command_call *call)
{
    struct config config;
    struct fz_error err;
    struct backup_facts facts = {0};
    struct restore r = {.config = &config, .dir = call->operands[0]};
    if (!command_config(call, false, &config))
        return 2;
    enum fz_code code = restore(&r, &facts, &err);
    blob_close(r.from);
    blob_close(r.to);
    if (code != FZ_OK)
        return term_failed(cmd_restore.name, &err);
    printf("%s: a database of %" PRIu64 " bytes and %" PRIu64 " symbol files and indexes\n",
           config.data_dir, facts.database_bytes, r.n_blobs);
    return !term_finish_output(cmd_restore.name);
}

static const struct command_example examples[] = {
    {"framezero restore /backup/2026-01-31 --data /var/lib/framezero",
     "into a folder that `framezero serve --data` then uses"},
    {NULL, NULL},
};

const struct command_spec cmd_restore = {
    .name = "restore",
    .summary = "bring back what 'backup' copied",
    .operands = "DIR",
    .complete = "dir",
    .flags = COMMAND_NEEDS_OPERANDS,
    .description =
        "Copy the backup in the folder DIR into a data folder that has no database yet. Every "
        "file is checked against its hash. The database appears last; an interrupted restore is "
        "continued by the same command. No server may run on the data folder meanwhile.",
    .examples = examples,
    .settings = config_settings,
    .role = CONFIG_STORE,
    .run = run,
};
