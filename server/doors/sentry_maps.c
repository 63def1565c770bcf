/*
 * A debug file of a bitcode build and the BCSymbolMap that has its names: sentry-cli sends them as
 * files of their own, the worker's child wants them in one archive (server/worker/archive.h), with
 * the map called by the UUID of the image.
 *
 *   <UUID of the image>.plist      kept as "uuidmap": its DBGOriginalUUID is the map's UUID
 *   <UUID of the map>.bcsymbolmap  kept as "bcsymbolmap"; without a plist it has the image's UUID
 */
#define _GNU_SOURCE /* memmem */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/file.h"
#include "base/tar.h"
#include "server/doors/sentry_files.h"

enum { PLIST_BYTES = 64 * 1024, COPY_BYTES = 256 * 1024 };

bool
sentry_map_original(struct fz_span plist, struct fz_uuid *ret)
{
    static const char key[] = "DBGOriginalUUID", open[] = "<string>";
    const uint8_t *end = plist.data + plist.len;
    const uint8_t *at = plist.len ? memmem(plist.data, plist.len, key, sizeof(key) - 1) : NULL;
    if (at)
        at = memmem(at, (size_t)(end - at), open, sizeof(open) - 1);
    if (!at)
        return false;
    at += sizeof(open) - 1;
    const uint8_t *close = at < end ? memchr(at, '<', (size_t)(end - at)) : NULL;
    return close && fz_uuid_parse(fz_span_make(at, (size_t)(close - at)), ret);
}

/* Which map the image's plist names; *ret stays as it is without one. */
static enum fz_code
find_original(struct api_call *call, const struct fz_uuid *image, struct fz_uuid *ret,
              struct fz_error *err)
{
    struct store_assembled plist;
    int fd FZ_CLEANUP(fz_closep) = -1;
    enum fz_code code = store_assembled_find(call->store, call->project_id, "uuidmap", image,
                                             call->arena, &plist, err);
    if (!code)
        code = blob_get_fd(api_blobs(call->api), plist.blob_sha256, &fd, err);
    if (code)
        return code == FZ_E_NOT_FOUND ? FZ_OK : code;
    char *bytes = fz_arena_alloc(call->arena, PLIST_BYTES);
    if (!bytes)
        return fz_arena_fail(call->arena, err);
    ssize_t n = pread(fd, bytes, PLIST_BYTES, 0);
    struct fz_uuid original;
    if (n > 0 && sentry_map_original(fz_span_make(bytes, (size_t)n), &original))
        *ret = original;
    return FZ_OK;
}

static enum fz_code
append(int to, int from, uint64_t size, struct fz_error *err)
{
    uint8_t *piece = malloc(COPY_BYTES);
    enum fz_code code = piece ? FZ_OK : fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    for (uint64_t at = 0; !code && at < size;) {
        ssize_t n = pread(from, piece, size - at < COPY_BYTES ? (size_t)(size - at) : COPY_BYTES,
                          (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        code = n > 0 ? fz_file_write_fd(to, fz_span_make(piece, (size_t)n), err)
                     : fz_fail(err, FZ_E_INTERNAL, "a file cannot be read again");
        at += n > 0 ? (uint64_t)n : 0;
    }
    free(piece);
    return code;
}

static enum fz_code
append_member(int to, const char *name, int from, uint64_t size, struct fz_error *err)
{
    static const char zeros[FZ_TAR_BLOCK] = "";
    char header[FZ_TAR_BLOCK];
    fz_tar_header(name, size, header);
    enum fz_code code = fz_file_write_fd(to, fz_span_make(header, sizeof(header)), err);
    if (!code)
        code = append(to, from, size, err);
    if (!code)
        code = fz_file_write_fd(to, fz_span_make(zeros, fz_tar_padding(size)), err);
    return code;
}

enum fz_code
sentry_map_pack(struct api_call *call, const struct sentry_file *file, int fd, uint64_t size,
                int *ret_fd, struct fz_error *err)
{
    static const char end[2 * FZ_TAR_BLOCK] = "";
    struct fz_uuid wanted = file->uuid;
    struct store_assembled map;
    int map_fd FZ_CLEANUP(fz_closep) = -1, to FZ_CLEANUP(fz_closep) = -1;
    if (fz_uuid_is_nil(&file->uuid))
        return FZ_OK;
    enum fz_code code = find_original(call, &file->uuid, &wanted, err);
    if (!code)
        code = store_assembled_find(call->store, call->project_id, "bcsymbolmap", &wanted,
                                    call->arena, &map, err);
    if (!code)
        code = blob_get_fd(api_blobs(call->api), map.blob_sha256, &map_fd, err);
    if (code)
        return code == FZ_E_NOT_FOUND ? FZ_OK : code;
    char uuid[FZ_UUID_DASHED], name[FZ_UUID_DASHED + 16];
    fz_uuid_format_dashed(&file->uuid, uuid);
    snprintf(name, sizeof(name), "%s.bcsymbolmap", uuid);
    code = blob_temp(api_blobs(call->api), &to, err);
    if (!code)
        code = append_member(to, *file->name ? file->name : "file", fd, size, err);
    if (!code)
        code = append_member(to, name, map_fd, map.size, err);
    if (!code)
        code = fz_file_write_fd(to, fz_span_make(end, sizeof(end)), err);
    if (!code) {
        *ret_fd = to;
        to = -1;
    }
    return code;
}
