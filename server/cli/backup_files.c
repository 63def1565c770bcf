#include "server/cli/backup_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/file.h"
#include "base/json/write.h"
#include "base/text.h"
#include "base/time.h"

static const char facts_name[] = "backup.json";
enum { FORMAT = 1, FACTS_MAX = 64 * 1024 };

void
backup_path(const char *dir, const char *name, char ret[BACKUP_PATH])
{
    snprintf(ret, BACKUP_PATH, "%.*s/%s", PATH_MAX, dir, name);
}

enum fz_code
backup_database(const struct config *config, const char **ret_path, struct fz_error *err)
{
    static const char sqlite[] = "sqlite:";
    if (!fz_text_has_prefix(config->database, sqlite))
        return fz_fail(err, FZ_E_UNSUPPORTED,
                       "only a database of SQLite is copied by framezero; for PostgreSQL use "
                       "pg_dump and pg_restore (docs/backup.md)");
    *ret_path = config->database + sizeof(sqlite) - 1;
    return FZ_OK;
}

/* ---- backup.json ---- */

bool
backup_is_whole(const char *dir)
{
    char path[BACKUP_PATH];
    backup_path(dir, facts_name, path);
    return access(path, F_OK) == 0;
}

enum fz_code
backup_write_facts(const char *dir, const struct backup_facts *facts, struct fz_error *err)
{
    char path[BACKUP_PATH];
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(FACTS_MAX);
    struct json_write w = json_write_start(&out);
    json_write_open(&w, NULL, '{');
    json_write_u64(&w, "format", FORMAT);
    json_write_time(&w, "created_at", fz_time_now_ms());
    json_write_u64(&w, "database_bytes", facts->database_bytes);
    json_write_text(&w, "database_sha256", facts->database_sha256);
    json_write_u64(&w, "blobs", facts->n_blobs);
    json_write_u64(&w, "blob_bytes", facts->blob_bytes);
    json_write_close(&w, '}');
    fz_buffer_char(&out, '\n');
    enum fz_code code = fz_buffer_done(&out, err);
    backup_path(dir, facts_name, path);
    return code == FZ_OK ? fz_file_write_atomic(path, fz_buffer_span(&out), 0600, err) : code;
}

enum fz_code
backup_read_facts(const char *dir, struct backup_facts *ret, struct fz_error *err)
{
    char path[BACKUP_PATH];
    json_error_t fault;
    backup_path(dir, facts_name, path);
    if (!backup_is_whole(dir))
        return fz_fail(err, FZ_E_NOT_FOUND,
                       "%s is not a whole backup: there is no %s in it, which `framezero backup` "
                       "writes last",
                       dir, facts_name);
    json_auto_t *root = json_load_file(path, 0, &fault);
    if (!root)
        return fz_fail(err, FZ_E_MALFORMED, "%s, line %d: %s", path, fault.line, fault.text);
    json_int_t format = json_integer_value(json_object_get(root, "format"));
    const char *sha256 = json_string_value(json_object_get(root, "database_sha256"));
    if (format > FORMAT)
        return fz_fail(err, FZ_E_UNSUPPORTED,
                       "%s was made by a later version of framezero (format %" JSON_INTEGER_FORMAT
                       "): restore it with that version",
                       dir, format);
    if (format != FORMAT || !sha256 || !fz_text_is_hex(sha256, FZ_SHA256_TEXT - 1))
        return fz_fail(err, FZ_E_MALFORMED, "%s: \"format\" or \"database_sha256\" is not sound",
                       path);
    *ret = (struct backup_facts){
        .database_bytes = (uint64_t)json_integer_value(json_object_get(root, "database_bytes")),
        .n_blobs = (uint64_t)json_integer_value(json_object_get(root, "blobs")),
        .blob_bytes = (uint64_t)json_integer_value(json_object_get(root, "blob_bytes")),
    };
    memcpy(ret->database_sha256, sha256, sizeof(ret->database_sha256));
    return FZ_OK;
}

/* ---- files ---- */

enum fz_code
backup_hash(const char *path, uint64_t *ret_bytes, char ret_sha256[FZ_SHA256_TEXT],
            struct fz_error *err)
{
    FZ_CLEANUP(fz_map_close) struct fz_map map = {{NULL, 0}};
    enum fz_code code = fz_map_open(path, &map, err);
    if (code != FZ_OK)
        return code;
    *ret_bytes = map.bytes.len;
    fz_sha256_hex(map.bytes, ret_sha256);
    return FZ_OK;
}

enum fz_code
backup_copy_file(const char *from, const char *to, struct fz_error *err)
{
    FZ_CLEANUP(fz_map_close) struct fz_map map = {{NULL, 0}};
    enum fz_code code = fz_map_open(from, &map, err);
    if (code != FZ_OK)
        return code;
    FZ_CLEANUP(fz_closep)
    int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fz_fail_errno(err, "cannot create %s", to);
    code = fz_file_write_fd(fd, map.bytes, err);
    if (code == FZ_OK && fsync(fd) != 0)
        code = fz_fail_errno(err, "cannot write %s", to);
    return code == FZ_OK ? fz_file_sync_parent(to, err) : code;
}

/* ---- progress ---- */

static bool is_shown;

void
backup_progress(const char *what, uint64_t bytes, uint64_t total)
{
    static const uint64_t MB = 1000 * 1000;
    if (!isatty(STDERR_FILENO))
        return;
    if (total)
        fprintf(stderr, "\r%s %" PRIu64 " of %" PRIu64 " MB\033[K", what, bytes / MB, total / MB);
    else
        fprintf(stderr, "\r%s %" PRIu64 " MB\033[K", what, bytes / MB);
    is_shown = true;
}

void
backup_progress_end(void)
{
    if (is_shown)
        fputs("\r\033[K", stderr);
    is_shown = false;
}
