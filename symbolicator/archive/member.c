#include "symbolicator/archive/member.h"

#include <stdio.h>

#include <archive.h>
#include <archive_entry.h>

#include "base/file.h"
#include "base/platform.h"
#include "base/text.h"
#include "symbolicator/symbolicator.h"

enum { ENTRIES_MAX = 100000, STEP = 256 * 1024 };
static const uint64_t TOTAL_MAX = (uint64_t)16 << 30;

bool
sym_member_is_archive(struct fz_span file)
{
    static const char *const kinds[] = {
        "a zip archive", "a gzip file", "a bzip2 file",
        "an xz file",    "a zstd file", "a tar archive",
    };
    const char *looks = sym_macho_looks_like(file);
    for (size_t i = 0; i < FZ_ARRAY_LEN(kinds); i++) {
        if (strcmp(looks, kinds[i]) == 0)
            return true;
    }
    return false;
}

static void
free_archivep(struct archive **archive)
{
    if (*archive)
        archive_read_free(*archive);
}

static enum fz_code
archive_failure(struct archive *archive, struct fz_error *err)
{
    const char *text = archive_error_string(archive);
    return fz_fail(err, FZ_E_MALFORMED, "broken archive: %s", text ? text : "unknown reason");
}

/* The name without folders, for AppleDouble; macOS zips keep those under __MACOSX too. */
static bool
is_wanted(struct archive_entry *entry, const char *name)
{
    return name && archive_entry_filetype(entry) == AE_IFREG &&
           !fz_text_has_prefix(fz_text_base_name(name), "._") &&
           !fz_text_has_prefix(name, "__MACOSX/");
}

/* A Mach-O, a BCSymbolMap, or the property list that says which map a dSYM has. */
static bool
is_read(const char *name, struct fz_span head)
{
    struct fz_uuid uuid;
    return sym_macho_has_magic(head) || sym_symbol_map_has_magic(head) ||
           (head.len > 0 && sym_symbol_map_path_uuid(name, ".plist", &uuid));
}

/* Copy one member to a memory file if it is of use; *ret_fd is -1 otherwise. */
static enum fz_code
copy_member(struct archive *archive, const char *name, uint64_t *total, int *ret_fd,
            struct fz_error *err)
{
    static const uint8_t empty[1];
    FZ_CLEANUP(fz_closep) int fd = -1;
    uint8_t step[STEP];
    for (;;) {
        la_ssize_t got = archive_read_data(archive, step, sizeof(step));
        if (got < 0)
            return archive_failure(archive, err);
        struct fz_span bytes = fz_span_make(got ? step : empty, (size_t)got);
        if (fd < 0 && !is_read(name, bytes))
            return FZ_OK;
        if (got == 0)
            break;
        if (fd < 0)
            fd = fz_platform_memory_file("framezero-member");
        if (fd < 0)
            return fz_fail_errno(err, "cannot make a memory file");
        *total += (uint64_t)got;
        if (*total > TOTAL_MAX)
            return fz_fail(err, FZ_E_LIMIT, "%s: the archive holds more than %llu GiB", name,
                           (unsigned long long)(TOTAL_MAX >> 30));
        enum fz_code code = fz_file_write_fd(fd, bytes, err);
        if (code != FZ_OK)
            return code;
    }
    *ret_fd = fd;
    fd = -1;
    return FZ_OK;
}

enum fz_code
sym_member_walk(struct fz_span file, sym_member_fn fn, void *user, struct fz_error *err)
{
    FZ_CLEANUP(free_archivep) struct archive *archive = archive_read_new();
    if (!archive)
        return fz_fail(err, FZ_E_NO_MEMORY, "no memory for an archive reader");
    archive_read_support_format_zip(archive);
    archive_read_support_format_tar(archive);
    archive_read_support_filter_all(archive);
    if (archive_read_open_memory(archive, file.data, file.len) != ARCHIVE_OK)
        return archive_failure(archive, err);
    uint64_t total = 0;
    for (unsigned n = 0;; n++) {
        struct archive_entry *entry;
        int status = archive_read_next_header(archive, &entry);
        if (status == ARCHIVE_EOF)
            return FZ_OK;
        if (status < ARCHIVE_WARN)
            return archive_failure(archive, err);
        if (n == ENTRIES_MAX)
            return fz_fail(err, FZ_E_LIMIT, "the archive has more than %d entries", ENTRIES_MAX);
        const char *name = archive_entry_pathname(entry);
        if (!is_wanted(entry, name))
            continue;
        FZ_CLEANUP(fz_closep) int fd = -1;
        enum fz_code code = copy_member(archive, name, &total, &fd, err);
        if (code == FZ_OK && fd >= 0)
            code = fn(user, name, fd, err);
        if (code != FZ_OK)
            return code;
    }
}
