/*
 * A frame at return address 0x180054f10 that its reporter calls "objc_msgSend + 16":
 *
 *   image     0x180050000   load address, from the report
 *   looked up     0x4f0f    of the call itself, one before the return address
 *   start         0x4f00    0x4f10 - 16
 *   reach            0xf    looked up - start: at 0x4f10 of a crash frame no report has seen this name
 */
#include "server/child/learned.h"

#include <stdlib.h>
#include <string.h>

#include "base/arch/arch.h"
#include "base/attr.h"
#include "base/text.h"
#include "server/protocol/protocol.h"

enum { CANDIDATES = 4 * PROTO_LEARNED_MAX }; /* before duplicates are merged */

struct candidate {
    struct proto_learned learned;
    size_t order; /* in the report: of two names for one start, the first one is kept */
};

/* Files that Apple ships, by the folders that apps cannot install into, on a device, a Mac and in
 * the runtimes of simulators. Stricter than what counts as the system's for display. */
static bool
is_system(const struct report_image *image)
{
    static const char *const tops[] = {"/System/", "/usr/lib/", "/private/preboot/Cryptexes/"};
    if (!image->path || !image->has_uuid || fz_uuid_is_nil(&image->uuid))
        return false;
    for (size_t i = 0; i < FZ_ARRAY_LEN(tops); i++) {
        if (fz_text_has_prefix(image->path, tops[i]))
            return true;
    }
    return strstr(image->path, ".simruntime/Contents/Resources/RuntimeRoot/") != NULL;
}

/* "<redacted>", "<deduplicated_symbol>", "???", an address, the image's header: what reporters
 * write where they do not know the function. */
static bool
is_name(const char *name)
{
    static const char *const none[] = {"0x",   "???",  "(null)", "___lldb_unnamed_symbol",
                                       "_mh_", "__mh_"};
    size_t len = name ? strlen(name) : 0;
    if (len == 0 || len > PROTO_NAME_MAX || (name[0] == '<' && name[len - 1] == '>'))
        return false;
    for (size_t i = 0; i < FZ_ARRAY_LEN(none); i++) {
        if (fz_text_has_prefix(name, none[i]))
            return false;
    }
    return true;
}

/* Where the function starts, and how far from there the frame was looked up. */
static bool
measure(const struct report *report, const struct report_image *image,
        const struct report_frame *frame, struct proto_learned *ret)
{
    uint64_t addr = frame->addr, from = frame->client_start, shown = frame->image_offset;
    uint32_t cputype, subtype;
    const char *arch = image->arch ? image->arch : report->arch;
    if (arch && fz_arch_parse(arch, &cputype, &subtype) && fz_arch_has_thumb(cputype)) {
        /* Thumb: bit 0 is not a part of the address, and reporters set it in some of the three. */
        addr &= ~(uint64_t)1;
        from &= ~(uint64_t)1;
        shown &= ~(uint64_t)1;
    }
    /* The distance is measured from the address, not from the image: a signed pointer has its
     * authentication bits in both values or in neither, so they cancel out. */
    uint64_t distance = addr - from, before = shown - frame->lookup_offset;
    if (from > addr || frame->lookup_offset > shown || distance < before)
        return false;
    /* The name holds for what was looked up, which may be before the address that is shown. */
    uint64_t reach = distance - before;
    /* A wrong start would give the name to all functions after it. */
    if (reach > PROTO_REACH_MAX || reach >= frame->lookup_offset)
        return false; /* no function starts at the image's header */
    uint64_t start = frame->lookup_offset - reach;
    /* Offsets into an image have 32 bits in Mach-O, and in the database's column. */
    if (start > UINT32_MAX || (image->size && frame->lookup_offset >= image->size))
        return false;
    ret->start = (uint32_t)start;
    ret->reach = (uint32_t)reach;
    return true;
}

static bool
has_learnable(const struct report *report, const struct report_frame *frame,
              struct proto_learned *ret)
{
    if (!frame->has_client_start || frame->n_client == 0 || !frame->has_image_offset ||
        frame->image < 0 || (size_t)frame->image >= report->n_images || frame->n_symbols == 0)
        return false;
    const struct report_image *image = &report->images[frame->image];
    /* The last symbol is the function that has the frame; those before are inlined into it. */
    const struct report_symbol *shown = &frame->symbols[frame->n_symbols - 1];
    const struct report_symbol *own = &frame->client[frame->n_client - 1];
    /* Only names that no symbol file gave: an upload has better ones anyway. */
    if (own->inlined || strcmp(shown->source, "client") != 0 || !is_name(own->function) ||
        !is_system(image) || !measure(report, image, frame, ret))
        return false;
    ret->uuid = image->uuid;
    ret->name = own->function;
    return true;
}

static void
add_all(const struct report *report, const struct report_frame *frames, size_t n_frames,
        struct candidate *list, size_t room, size_t *n)
{
    for (size_t i = 0; i < n_frames && *n < room; i++) {
        if (!has_learnable(report, &frames[i], &list[*n].learned))
            continue;
        list[*n].order = *n;
        *n += 1;
    }
}

static int
compare(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    /* Sorted, so that names for one function follow each other and are merged. */
    int by_uuid = memcmp(x->learned.uuid.bytes, y->learned.uuid.bytes, sizeof(x->learned.uuid));
    if (by_uuid)
        return by_uuid;
    if (x->learned.start != y->learned.start)
        return x->learned.start < y->learned.start ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Frames that may bring a name, at most CANDIDATES: most formats have none. */
static size_t
count_all(const struct report *report)
{
    size_t n = 0;
    for (size_t t = 0; t < report->n_threads; t++) {
        for (size_t i = 0; i < report->threads[t].n_frames; i++)
            n += report->threads[t].frames[i].has_client_start;
    }
    for (size_t i = 0; i < report->n_exception_frames; i++)
        n += report->exception_frames[i].has_client_start;
    return n < CANDIDATES ? n : CANDIDATES;
}

void
child_learned_collect(const struct report *report, struct fz_arena *arena,
                      struct proto_learned **ret, size_t *ret_n)
{
    /* Counted first: for most reports there is nothing, and no list is needed. */
    size_t room = count_all(report), n = 0, kept = 0;
    *ret = NULL;
    *ret_n = 0;
    if (room == 0)
        return;
    struct candidate *list = fz_arena_array(arena, room, sizeof(*list));
    struct proto_learned *learned = fz_arena_array(arena, room, sizeof(*learned));
    /* The report is worth more than what could be learned from it. */
    if (!list || !learned)
        return;
    for (size_t i = 0; i < report->n_threads; i++)
        add_all(report, report->threads[i].frames, report->threads[i].n_frames, list, room, &n);
    add_all(report, report->exception_frames, report->n_exception_frames, list, room, &n);
    if (n > 1)
        qsort(list, n, sizeof(*list), compare);
    for (size_t i = 0; i < n; i++) {
        const struct proto_learned *one = &list[i].learned;
        struct proto_learned *last = kept ? &learned[kept - 1] : NULL;
        if (last && last->start == one->start && fz_uuid_equal(&last->uuid, &one->uuid)) {
            /* The same function, hit further from its start. */
            if (one->reach > last->reach)
                last->reach = one->reach;
        } else if (kept < PROTO_LEARNED_MAX) {
            learned[kept++] = *one;
        }
    }
    *ret = learned;
    *ret_n = kept;
}
