/*
 * The space that is left on the disks of a server: what it still accepts, and a file in reserve.
 *
 * DATA/reserve holds disk_reserve bytes. When almost nothing is free, most of it is given up, so that
 * deletes have room for the database's log; the rest is for starts on a full disk, which take a
 * part each. It is made again as soon as there is room. The file does not count as used: it is in the
 * figures below as if it were always there.
 */
#ifndef SERVE_DISK_H
#define SERVE_DISK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/error.h"
#include "server/api/api.h"
#include "server/process/limits.h"

struct serve_disk {
    const struct limits *limits;     /* borrowed */
    char blobs[4096], reserve[4096]; /* a folder, "" = no such; the file */
    atomic_int state;                /* enum api_disk */
    atomic_uint_fast64_t free_bytes; /* as of the last serve_disk_tend() */
    bool in_trouble;                 /* the reserve cannot be made: logged once */
};

/* Before the database is opened; gives up a part of the reserve if nothing else is free. `blobs_url`
 * may be on another disk. */
void serve_disk_init(struct serve_disk *disk, const char *data_dir, const char *blobs_url,
                     const struct limits *limits);

/* A start has failed: if the disk is full, say in the error that this is why. */
void serve_disk_explain(const struct serve_disk *disk, struct fz_error *err);

/* Look again; give up or make the reserve. Call it every SERVE_DISK_TEND_MS, from one thread. */
enum { SERVE_DISK_TEND_MS = 500 };
void serve_disk_tend(struct serve_disk *disk);

/* An api_disk_fn of struct serve_disk. */
enum api_disk serve_disk_state(void *disk, uint64_t *ret_free);

#endif
