/*
 * From an address in a report to an address in a symbol file:
 *
 *   address   0x1045f8b00   return address of frame 1, shown unchanged
 *   - 1       0x1045f8aff   the call itself, looked up (frame 0 of a thread: no - 1)
 *   image     0x1045f0000   load address, from the report
 *   offset       0x8aff
 *   + __TEXT  0x100008aff   vmaddr of __TEXT, from the index
 */
#include "server/resolve/resolve.h"

#include <string.h>

#include "base/arch/arch.h"
#include "base/arch/registers.h"
#include "base/attr.h"
#include "server/group/group.h"
#include "server/report/image_map.h"
#include "server/resolve/images.h"
#include "server/resolve/learned.h"
#include "server/resolve/stack.h"
#include "server/resolve/stack_merge.h"
#include "server/resolve/symbols.h"
#include "server/resolve/types.h"
#include "server/resolve/values.h"
#include "symbolicator/symbolicator.h"

/* Whose code an image is: each frame asks, and it takes a hundred comparisons. */
struct known_origin {
    bool is_known, is_own;
    size_t n_files; /* that it had then: a dSYM makes a difference */
};

struct resolver {
    struct report *report;
    struct known_origin *origins; /* of the images */
    bool has_cpu;                 /* what the process ran on is known */
    uint32_t cputype;
    struct fz_arena *arena;
    struct resolve_images images;
    struct report_image_map map;
    struct resolve_names names;
    struct resolve_stacks stacks;
};

static void
set_cpu(struct resolver *r, const char *arch)
{
    uint32_t subtype;
    if (!r->has_cpu && arch)
        r->has_cpu = fz_arch_parse(arch, &r->cputype, &subtype);
}

/* An address within the instruction of this frame. */
static uint64_t
adjusted(const struct resolver *r, uint64_t addr, bool is_return)
{
    /* Only 32-bit ARM: elsewhere bit 0 is a part of the address. */
    if (r->has_cpu && fz_arch_has_thumb(r->cputype))
        addr &= ~(uint64_t)1; /* bit 0 means Thumb and does not belong to the address */
    return is_return && addr > 0 ? addr - 1 : addr;
}

static bool
may_be_signed(const struct resolver *r)
{
    return !r->has_cpu || r->cputype == FZ_ARCH_ARM64;
}

/* Find the image by the looked-up address: a call that ends an image returns past it. */
static int
find_image(struct resolver *r, uint64_t *addr, bool is_return)
{
    uint64_t plain = adjusted(r, *addr, is_return);
    int image = report_image_map_at(&r->map, plain);
    if (image >= 0 || !may_be_signed(r)) {
        *addr = plain;
        return image;
    }
    /* Pointer authentication uses the bits above the address space: 47 bits on macOS, 39 on iOS, 36
     * on older iOS. They are only cut when that leads into an image. */
    static const unsigned widths[] = {47, 39, 36};
    for (size_t i = 0; i < FZ_ARRAY_LEN(widths); i++) {
        uint64_t cut = *addr & ((UINT64_C(1) << widths[i]) - 1);
        if (cut == *addr)
            continue;
        image = report_image_map_at(&r->map, adjusted(r, cut, is_return));
        if (image >= 0) {
            *addr = adjusted(r, cut, is_return);
            return image;
        }
    }
    *addr = plain;
    return -1;
}

static void
locate(struct resolver *r, struct report_frame *frame, bool is_return)
{
    uint64_t lookup = frame->addr;
    /* A format that names the image of each frame (.ips, MetricKit) is right about it. */
    if (frame->image < 0 || (size_t)frame->image >= r->report->n_images) {
        frame->image = find_image(r, &lookup, is_return);
        frame->has_image_offset = false;
    } else {
        lookup = adjusted(r, lookup, is_return);
    }
    frame->lookup_addr = lookup;
    if (frame->image < 0 || frame->has_image_offset)
        return;
    /* Shown beside the address, so it counts from the address and not from the call before it. */
    uint64_t load = r->report->images[frame->image].addr;
    uint64_t shown = lookup + (is_return ? 1 : 0);
    if (shown >= load) {
        frame->has_image_offset = true;
        frame->image_offset = shown - load;
    }
}

/* Names that a bitcode build hid; only the BCSymbolMap of the build restores them. */
static bool
has_hidden_name(const struct report_frame *frame)
{
    for (size_t i = 0; i < frame->n_symbols; i++) {
        const char *name = frame->symbols[i].function;
        if (name && sym_demangle_is_hidden(name)) /* with as many underscores as were left */
            return true;
    }
    return false;
}

/* What the frame's caller says it called, NULL if that is not known. Only calls of folded functions
 * are known, so it is asked for those alone. */
static enum fz_code
called_by(struct resolver *r, const struct report_frame *caller, const char **ret,
          struct fz_error *err)
{
    *ret = NULL;
    if (!caller || caller->image < 0 || !caller->has_image_offset ||
        caller->adjust == REPORT_ADJUST_EXACT)
        return FZ_OK;
    for (unsigned rank = 0; rank < RESOLVE_FILES_MAX && !*ret; rank++) {
        struct resolve_file *file;
        if (rank > 0 && rank >= r->images.list[caller->image].n_asked)
            break; /* further files are not asked for this alone */
        enum fz_code code = resolve_images_file(&r->images, caller->image, rank, &file, err);
        if (code != FZ_OK)
            return code;
        /* The offset comes from the report: the sum may wrap. */
        if (file && caller->image_offset <= UINT64_MAX - file->text_vmaddr)
            *ret =
                sym_index_call_target(file->found.index, file->text_vmaddr + caller->image_offset);
    }
    return FZ_OK;
}

/* Of the functions that share the code at `addr` show the one that was called. */
static enum fz_code
choose_called(struct resolver *r, const struct sym_index *index, uint64_t addr,
              struct report_frame *frame, const struct report_frame *caller, struct fz_error *err)
{
    const char *target;
    /* Without other names at the address there is nothing to choose. */
    if (frame->n_symbols == 0 || frame->symbols[frame->n_symbols - 1].n_also == 0)
        return FZ_OK;
    enum fz_code code = called_by(r, caller, &target, err);
    return code == FZ_OK && target
               ? resolve_names_called(&r->names, index, addr, target, frame, err)
               : code;
}

/* Ask the symbol files of the frame's image, best first, until one has a name. */
static enum fz_code
name_frame(struct resolver *r, struct report_frame *frame, const struct report_frame *caller,
           bool is_return, struct fz_error *err)
{
    struct report_image *image = &r->report->images[frame->image];
    /* image_offset is what is shown; the call itself is looked up, one byte before. */
    uint64_t offset = adjusted(r, frame->image_offset, is_return);
    frame->lookup_offset = offset;
    bool any = false;
    for (unsigned rank = 0; rank < RESOLVE_FILES_MAX && frame->n_symbols == 0; rank++) {
        struct resolve_file *file;
        enum fz_code code = resolve_images_file(&r->images, frame->image, rank, &file, err);
        if (code != FZ_OK)
            return code;
        if (!file && r->images.list[frame->image].n_asked <= rank)
            break; /* there are no more */
        if (!file)
            continue;
        any = true;
        if (!frame->has_image_offset || offset > UINT64_MAX - file->text_vmaddr)
            continue;
        const struct sym_index *index = file->found.index;
        uint64_t addr = file->text_vmaddr + offset;
        code = resolve_names_at(&r->names, index, addr, frame, err);
        if (code == FZ_OK)
            code = choose_called(r, index, addr, frame, caller, err);
        if (code != FZ_OK)
            return code;
        /* The report lists the files that its names came from. */
        file->named = file->named || frame->n_symbols > 0;
    }
    frame->status = any                                   ? REPORT_FRAME_NO_SYMBOL
                    : image->state == REPORT_IMAGE_FAILED ? REPORT_FRAME_MALFORMED_SYMBOL_FILE
                                                          : REPORT_FRAME_MISSING_SYMBOL_FILE;
    /* Shown beside the address, too: "main + 16" of a return address is where it returns to, as
     * Apple's tools print it. */
    if (frame->n_symbols > 0 && frame->symbols[frame->n_symbols - 1].has_offset)
        frame->symbols[frame->n_symbols - 1].offset += frame->image_offset - offset;
    if (has_hidden_name(frame))
        image->wants_better = true;
    return FZ_OK;
}

static bool
is_return_address(const struct report_frame *frame, bool is_top)
{
    return frame->adjust == REPORT_ADJUST_RETURN ||
           (frame->adjust == REPORT_ADJUST_AUTO && !is_top);
}

static bool
is_own(struct resolver *r, size_t number)
{
    struct known_origin *known = &r->origins[number];
    size_t n_files = r->report->images[number].n_files;
    if (!known->is_known || known->n_files != n_files)
        *known = (struct known_origin){
            true, group_origin_is_own(group_image_origin(r->report, number)), n_files};
    return known->is_own;
}

/* Name a frame that was located; `caller` is the next older one, NULL if there is none. */
static enum fz_code
resolve_frame(struct resolver *r, struct report_frame *frame, const struct report_frame *caller,
              bool is_return, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    frame->symbols = NULL;
    frame->n_symbols = 0;
    if (frame->image < 0) {
        frame->status = REPORT_FRAME_UNKNOWN_IMAGE;
    } else {
        frame->in_app = is_own(r, (size_t)frame->image);
        code = name_frame(r, frame, caller, is_return, err);
    }
    /* The reporter's own names are the last choice: they lack files and lines. */
    if (code == FZ_OK && frame->n_symbols == 0 && frame->n_client > 0)
        code = resolve_names_client(&r->names, frame, err);
    if (code == FZ_OK && frame->n_symbols > 0)
        frame->status = REPORT_FRAME_SYMBOLICATED;
    return code;
}

/* All frames are located before the first is named, since a caller knows what it called. */
static enum fz_code
resolve_frames(struct resolver *r, struct report_frame *frames, size_t n, bool has_top,
               struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; i < n; i++)
        locate(r, &frames[i], is_return_address(&frames[i], has_top && i == 0));
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        code = resolve_frame(r, &frames[i], i + 1 < n ? &frames[i + 1] : NULL,
                             is_return_address(&frames[i], has_top && i == 0), err);
    return code;
}

/* A thread that came with registers but without frames: where it was, and where it returns to if
 * the link register points into an image. */
static enum fz_code
frames_from_registers(struct resolver *r, struct report_thread *thread, struct fz_error *err)
{
    const struct report_register *pc = report_find_register(r->report, thread, FZ_REGISTER_PC);
    if (thread->n_frames > 0 || !pc)
        return FZ_OK;
    struct report_frame *frames = fz_arena_array(r->arena, 2, sizeof(*frames));
    if (!frames)
        return fz_arena_fail(r->arena, err);
    frames[0] =
        (struct report_frame){.addr = pc->value, .image = -1, .trust = REPORT_TRUST_CONTEXT};
    thread->frames = frames;
    thread->n_frames = 1;
    const struct report_register *lr = report_find_register(r->report, thread, FZ_REGISTER_LR);
    uint64_t addr = lr ? lr->value : 0;
    /* Without unwinding nothing shows whether lr holds a return address: only one that leads
     * into an image is taken. */
    if (lr && lr->value != pc->value && find_image(r, &addr, true) >= 0) {
        frames[1] = (struct report_frame){
            .addr = lr->value, .image = -1, .trust = REPORT_TRUST_LINK_REGISTER};
        thread->n_frames = 2;
    }
    return FZ_OK;
}

/* Chains, and for threads that came without memory and frames what their registers say. */
static enum fz_code
find_frames(struct resolver *r, struct fz_error *err)
{
    enum fz_code code = resolve_stacks_unwind(&r->stacks, r->report, resolve_images_symbols,
                                              &r->images, r->arena, err);
    for (size_t i = 0; code == FZ_OK && i < r->report->n_threads; i++)
        code = frames_from_registers(r, &r->report->threads[i], err);
    return code;
}

/* The architecture of the first of these frames whose image has a symbol file. */
static enum fz_code
cpu_of_frames(struct resolver *r, const struct report_frame *frames, size_t n, bool has_top,
              struct fz_error *err)
{
    for (size_t i = 0; i < n && !r->has_cpu; i++) {
        struct resolve_file *file;
        struct sym_index_info info;
        uint64_t addr = frames[i].addr;
        int number = frames[i].image;
        if (number < 0 || (size_t)number >= r->report->n_images)
            number = find_image(r, &addr, is_return_address(&frames[i], has_top && i == 0));
        if (number < 0)
            continue;
        /* Rank 0 alone: all files of an image have its UUID, hence its architecture. */
        enum fz_code code = resolve_images_file(&r->images, number, 0, &file, err);
        if (code != FZ_OK)
            return code;
        if (!file)
            continue;
        sym_index_info(file->found.index, &info);
        r->report->arch = fz_arch_name(info.cputype, info.cpusubtype);
        set_cpu(r, r->report->arch);
    }
    return FZ_OK;
}

/* What the process ran on: it decides which bits of an address count. The report says so, or one of
 * its images, or else a symbol file that is asked for anyway. */
static enum fz_code
settle_cpu(struct resolver *r, struct fz_error *err)
{
    const struct report *report = r->report;
    enum fz_code code = FZ_OK;
    set_cpu(r, report->arch);
    for (size_t i = 0; i < report->n_images; i++)
        set_cpu(r, report->images[i].arch);
    for (size_t i = 0; code == FZ_OK && i < report->n_threads; i++)
        code = cpu_of_frames(r, report->threads[i].frames, report->threads[i].n_frames, true, err);
    if (code == FZ_OK)
        code = cpu_of_frames(r, report->exception_frames, report->n_exception_frames, false, err);
    return code;
}

/* A plain stack does not name its process; the image of main() is its executable. */
static enum fz_code
settle_process(struct report *report, struct fz_arena *arena, struct fz_error *err)
{
    for (size_t i = 0; i < report->n_threads && !report->process.name && !report->app_name; i++) {
        const struct report_thread *thread = &report->threads[i];
        /* From the oldest frame, where main() is. */
        for (size_t k = thread->n_frames; k-- > 0 && !report->process.name;) {
            const struct report_frame *frame = &thread->frames[k];
            const char *name =
                frame->n_symbols ? frame->symbols[frame->n_symbols - 1].function : NULL;
            if (name && frame->image >= 0 && strcmp(name, "main") == 0 &&
                !report_executable_name(report->images[frame->image].name, arena,
                                        &report->process.name))
                return fz_arena_fail(arena, err);
        }
    }
    if (!report->app_name)
        report->app_name = report->process.name;
    return FZ_OK;
}

enum fz_code
resolve_report(struct report *report, resolve_find_fn find, void *user,
               const struct resolve_options *options, struct fz_arena *arena, struct fz_error *err)
{
    /* In the arena: with room for 256 inlined calls it is large for a stack. */
    struct resolver *r = fz_arena_alloc(arena, sizeof(*r));
    if (!r)
        return fz_arena_fail(arena, err);
    *r = (struct resolver){.report = report,
                           .arena = arena,
                           .images = {.find = find,
                                      .files = options ? options->files : NULL,
                                      .user = user,
                                      .wants_binaries = options && options->values},
                           .stacks = resolve_stacks_make()};
    r->origins = fz_arena_array(arena, report->n_images, sizeof(*r->origins));
    if (!r->origins)
        return fz_arena_fail(arena, err);
    enum fz_code code = resolve_images_init(&r->images, report, arena, err);
    if (code == FZ_OK)
        code = report_image_map_make(report, arena, &r->map, err);
    if (code != FZ_OK)
        return code;
    resolve_names_init(&r->names, options, arena);
    code = find_frames(r, err);
    /* Before any address is looked up: it decides about the bits of Thumb and pointer
     * authentication. */
    if (code == FZ_OK)
        code = settle_cpu(r, err);
    for (size_t i = 0; code == FZ_OK && i < report->n_threads; i++)
        code = resolve_frames(r, report->threads[i].frames, report->threads[i].n_frames, true, err);
    if (code == FZ_OK)
        /* Where an exception was thrown, all frames are callers. */
        code = resolve_frames(r, report->exception_frames, report->n_exception_frames, false, err);
    if (code == FZ_OK)
        resolve_stack_drop_repeated(&r->stacks, report, arena);
    if (code == FZ_OK && options && options->values)
        code = resolve_values_add(report, &r->stacks, options, arena, err);
    if (code == FZ_OK)
        code = resolve_names_learned(&r->names, report, user, err);
    if (code == FZ_OK)
        resolve_images_mark_damaged(&r->images);
    if (code == FZ_OK)
        code = resolve_images_list_files(&r->images, err);
    if (code == FZ_OK)
        code = settle_process(report, arena, err);
    if (code == FZ_OK)
        code = resolve_exception_type(report, arena, err);
    resolve_stacks_deinit(&r->stacks);
    resolve_names_deinit(&r->names);
    return code;
}
