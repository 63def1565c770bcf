/* Symbol files that are open, for unwinding and values: mapped, by the SHA-256 of the slice. */
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/list.h"
#include "server/child/parts.h"

/* Load commands, and sections that are stored compressed. */
static const size_t SLICE_MEMORY = 256 * 1024 * 1024;

struct slice {
    uint8_t sha256[FZ_SHA256_LEN];
    struct fz_map map;
    struct fz_arena arena; /* of macho */
    struct sym_macho macho;
    bool is_open;  /* false: it cannot be read, and need not be tried again */
    uint64_t used; /* the clock at its last use */
};

struct child_slices {
    struct slice **list; /* pointers, since reports hold on to what they point to */
    size_t n, room;
    uint64_t clock;
};

enum fz_code
child_slices_create(struct child_slices **ret, struct fz_error *err)
{
    struct child_slices *slices = calloc(1, sizeof(*slices));
    if (!slices)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    *ret = slices;
    return FZ_OK;
}

static void
close_slice(struct slice *slice)
{
    fz_map_close(&slice->map);
    fz_arena_deinit(&slice->arena);
    free(slice);
}

void
child_slices_destroy(struct child_slices *slices)
{
    if (!slices)
        return;
    for (size_t i = 0; i < slices->n; i++)
        close_slice(slices->list[i]);
    free(slices->list);
    free(slices);
}

void
child_slices_trim(struct child_slices *slices)
{
    while (slices->n > CHILD_SLICES_ROOM) {
        size_t oldest = 0;
        for (size_t i = 1; i < slices->n; i++) {
            if (slices->list[i]->used < slices->list[oldest]->used)
                oldest = i;
        }
        close_slice(slices->list[oldest]);
        slices->list[oldest] = slices->list[--slices->n];
    }
}

static struct slice *
find(const struct child_slices *slices, const uint8_t *sha256)
{
    for (size_t i = 0; i < slices->n; i++) {
        if (memcmp(slices->list[i]->sha256, sha256, FZ_SHA256_LEN) == 0)
            return slices->list[i];
    }
    return NULL;
}

/* Map the slice and read its load commands; one that is not a Mach-O is kept as such. */
static enum fz_code
open_slice(struct child_slices *slices, const uint8_t *sha256, int fd, struct slice **ret,
           struct fz_error *err)
{
    struct slice **list =
        fz_list_grow(NULL, slices->list, &slices->room, slices->n + 1, sizeof(struct slice *));
    if (!list)
        return fz_budget_fail(NULL, err);
    slices->list = list;
    struct slice *slice = calloc(1, sizeof(*slice));
    if (!slice)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    memcpy(slice->sha256, sha256, FZ_SHA256_LEN);
    fz_arena_init(&slice->arena, SLICE_MEMORY);
    enum fz_code code = fz_map_open_fd(fd, &slice->map, err);
    if (code == FZ_OK) {
        struct sym_problems problems = {.n = 0}; /* the upload has said them */
        code = sym_macho_open(slice->map.bytes, &slice->arena, &slice->macho, &problems, err);
        slice->is_open = code == FZ_OK;
    }
    /* What may pass is not remembered. */
    if (code != FZ_OK && code != FZ_E_MALFORMED && code != FZ_E_UNSUPPORTED) {
        close_slice(slice);
        return code;
    }
    *ret = slices->list[slices->n++] = slice;
    return FZ_OK;
}

/* The slice that the worker names for this image; *ret NULL if there is none that can be read. */
static enum fz_code
ask(struct child *child, const struct fz_uuid *uuid, enum proto_slice_kind kind,
    const struct sym_macho **ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer question = fz_buffer_make(0);
    struct slice *slice = NULL;
    *ret = NULL;
    fz_buffer_append(&question, uuid->bytes, sizeof(uuid->bytes));
    proto_put_u8(&question, (uint8_t)kind);
    enum fz_code code = child_ask(child, PROTO_SYMBOLS, &question, PROTO_SYMBOLS_ARE, err);
    if (code != FZ_OK)
        return code;
    struct fz_reader in = fz_reader_make(child->inbox.body, "answer");
    struct fz_span hash = fz_read_bytes(&in, FZ_SHA256_LEN);
    FZ_CLEANUP(fz_closep) int fd = proto_take_fd(&child->inbox, 0);
    if (in.failed || fd < 0)
        return FZ_OK;
    slice = find(child->slices, hash.data);
    if (!slice)
        code = open_slice(child->slices, hash.data, fd, &slice, err);
    if (code != FZ_OK)
        return code;
    slice->used = ++child->slices->clock;
    *ret = slice->is_open ? &slice->macho : NULL;
    return FZ_OK;
}

enum fz_code
child_slices_find(void *user, const struct report_image *image, struct sym_process_files *ret,
                  struct fz_error *err)
{
    struct child *child = user;
    enum fz_code code = ask(child, &image->uuid, PROTO_SLICE_DSYM, &ret->dsym, err);
    if (code == FZ_OK)
        code = ask(child, &image->uuid, PROTO_SLICE_BINARY, &ret->binary, err);
    return code;
}
