#include "server/serve/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"

/* What one start takes of a full disk: SQLite's files, and the rows of jobs that are due again. */
static const uint64_t START_BYTES = 4 * 1024 * 1024;

static uint64_t
free_of(const char *folder)
{
    struct statvfs fs;
    /* Unknown is not full: whatever is wrong then, a write will say it. */
    if (!folder[0] || statvfs(folder, &fs) != 0)
        return UINT64_MAX;
    return (uint64_t)fs.f_bavail * fs.f_frsize;
}

static uint64_t
reserved(const struct serve_disk *disk)
{
    struct stat st;
    /* Blocks, not the length: a file with holes keeps nothing free. */
    return stat(disk->reserve, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
}

static uint64_t
free_beside(const struct serve_disk *disk)
{
    char folder[sizeof(disk->reserve)];
    snprintf(folder, sizeof(folder), "%s", disk->reserve);
    *strrchr(folder, '/') = '\0';
    return free_of(folder);
}

static bool
shrink(struct serve_disk *disk, uint64_t left)
{
    return truncate(disk->reserve, (off_t)left) == 0;
}

static bool
make(struct serve_disk *disk)
{
    FZ_CLEANUP(fz_closep) int fd = open(disk->reserve, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    if (posix_fallocate(fd, 0, (off_t)disk->limits->disk_reserve) == 0)
        return true;
    /* A part of it would take the room for which it is kept. */
    fz_ignore(ftruncate(fd, 0) != 0);
    return false;
}

/* A quarter is kept for starts. */
static uint64_t
kept(const struct serve_disk *disk)
{
    return disk->limits->disk_reserve / 4;
}

static void
tend_reserve(struct serve_disk *disk, uint64_t free_bytes, uint64_t held)
{
    uint64_t all = disk->limits->disk_reserve;
    if (free_bytes < all / 4 && held > kept(disk)) {
        if (shrink(disk, kept(disk)))
            fz_log(FZ_LOG_WARN, "the disk is full: the reserve is given up, so that deletes work",
                   "file=%s bytes=%llu", disk->reserve, (unsigned long long)(held - kept(disk)));
    } else if (held < all && free_bytes > 2 * (all - held)) {
        bool is_made = make(disk);
        if (is_made)
            fz_log(FZ_LOG_INFO, "the reserve for a full disk is made", "file=%s bytes=%llu",
                   disk->reserve, (unsigned long long)all);
        else if (!disk->in_trouble)
            fz_log(FZ_LOG_WARN, "the reserve for a full disk cannot be made",
                   "file=%s error=\"%s\"", disk->reserve, strerror(errno));
        disk->in_trouble = !is_made;
    }
}

void
serve_disk_tend(struct serve_disk *disk)
{
    static const char *const words[] = {
        [API_DISK_OK] = "everything is accepted again",
        [API_DISK_NO_SYMBOLS] = "symbol files are refused until there is room",
        [API_DISK_NO_REPORTS] = "reports and symbol files are refused until there is room"};
    tend_reserve(disk, free_beside(disk), reserved(disk));
    uint64_t beside = free_beside(disk), held = reserved(disk);
    uint64_t missing = held < disk->limits->disk_reserve ? disk->limits->disk_reserve - held : 0;
    uint64_t left = beside == UINT64_MAX ? beside : beside > missing ? beside - missing : 0;
    uint64_t of_blobs = free_of(disk->blobs);
    /* Reports go beside the database only; symbol files to both. */
    enum api_disk state =
        left < disk->limits->disk_free_reports ? API_DISK_NO_REPORTS
        : left < disk->limits->disk_free_symbols || of_blobs < disk->limits->disk_free_symbols
            ? API_DISK_NO_SYMBOLS
            : API_DISK_OK;
    left = of_blobs < left ? of_blobs : left;
    atomic_store(&disk->free_bytes, left);
    if ((int)state != atomic_exchange(&disk->state, (int)state))
        fz_log(state == API_DISK_OK ? FZ_LOG_INFO : FZ_LOG_WARN, "disk space",
               "free=%llu state=\"%s\"", (unsigned long long)left, words[state]);
}

void
serve_disk_init(struct serve_disk *disk, const char *data_dir, const char *blobs_url,
                const struct limits *limits)
{
    static const char file[] = "file:";
    *disk = (struct serve_disk){.limits = limits};
    snprintf(disk->reserve, sizeof(disk->reserve), "%s/reserve", data_dir);
    if (fz_text_has_prefix(blobs_url, file))
        snprintf(disk->blobs, sizeof(disk->blobs), "%s", blobs_url + strlen(file));
    else /* what goes to an object store is a file here first, in the data folder */
        snprintf(disk->blobs, sizeof(disk->blobs), "%s", data_dir);
    uint64_t held = reserved(disk);
    if (free_beside(disk) < START_BYTES && held > 0 &&
        shrink(disk, held > START_BYTES ? held - START_BYTES : 0))
        fz_log(FZ_LOG_WARN, "the disk is full: a part of the reserve is given up to start",
               "file=%s bytes=%llu", disk->reserve,
               (unsigned long long)(held > START_BYTES ? START_BYTES : held));
    else if (held == 0 && free_beside(disk) < START_BYTES)
        fz_log(FZ_LOG_WARN, "the disk is full and there is no reserve", "file=%s free=%llu",
               disk->reserve, (unsigned long long)free_beside(disk));
}

void
serve_disk_explain(const struct serve_disk *disk, struct fz_error *err)
{
    uint64_t left = disk->limits ? free_beside(disk) : UINT64_MAX;
    if (left < START_BYTES)
        fz_wrap(err, "the disk is full: a start needs %llu bytes and %llu are free beside %.100s",
                (unsigned long long)START_BYTES, (unsigned long long)left, disk->reserve);
}

enum api_disk
serve_disk_state(void *user, uint64_t *ret_free)
{
    struct serve_disk *disk = user;
    *ret_free = atomic_load(&disk->free_bytes);
    return (enum api_disk)atomic_load(&disk->state);
}
