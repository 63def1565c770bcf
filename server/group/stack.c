/*
 * From a resolved report to the normalised stack: the backtrace that describes the crash, each
 * inlined call a frame of its own, names as declarations.
 *
 *   frame 0  Shop 0x8a10  Array.subscript.getter (inlined)    ─►  Swift.Array.subscript, module Swift
 *                         closure #1 in Cart.total(of:)       ─►  Cart.total(of:), module Shop
 *   frame 1  UIKitCore 0x4082a, no name                       ─►  no name, UIKitCore
 */
#include <string.h>

#include "base/json/walk.h"
#include "base/text.h"
#include "server/group/own.h"
#include "server/group/parts.h"
#include "server/report/report.h"
#include "symbolicator/demangle/declaration.h"
#include "symbolicator/symbolicator.h"

/* A longer distance from the start of a function is not one: the name is the nearest of those that
 * were left in a stripped binary. */
enum {
    TEXTS_MAX = GROUP_STACK_BYTES / 2,
    REACH_MAX = 64 * 1024,
    HEAD_FRAMES = GROUP_FRAMES_MAX * 3 / 4,
    FINGERPRINT_PARTS = 16
};

struct stack_maker {
    const struct report *report;
    struct fz_arena *arena;
    struct group_stack *to;
    size_t room, text_room;           /* of frames, of bytes of texts */
    int *images;                      /* of the report → of the stack + 1 */
    const enum group_origin *origins; /* of the report\'s images */
    size_t number;                    /* of the frame that is added */
    size_t bytes; /* of texts: with them the encoded stack stays within its limit */
    size_t stack_room;
};

/* ---- texts ---- */

/* The last bytes of a path say most. */
static const char *
keep_end(const char *text)
{
    size_t len = strlen(text);
    if (len <= GROUP_TEXT_MAX)
        return text;
    text += len - GROUP_TEXT_MAX;
    while (((uint8_t)*text & 0xc0) == 0x80) /* not inside a character */
        text++;
    return text;
}

/* "/Users/anna/Shop/Cart.swift" → "/Users/~/Shop/Cart.swift": the same on every build machine. NULL
 * when memory is out. */
static const char *
without_user(const char *path, struct fz_arena *arena)
{
    static const char *const homes[] = {"/Users/", "/home/"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(homes); i++) {
        const char *rest =
            fz_text_has_prefix(path, homes[i]) ? strchr(path + strlen(homes[i]), '/') : NULL;
        if (rest)
            return fz_arena_printf(arena, "%s~%s", homes[i], keep_end(rest));
    }
    return keep_end(path);
}

/* From the app's folder on: what is before it has the UUID of one installation. NULL when memory is
 * out. */
static const char *
image_path(const char *path, struct fz_arena *arena)
{
    static const char *const marks[] = {"RuntimeRoot/", "Cryptexes/"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(marks); i++) {
        const char *mark = strstr(path, marks[i]);
        if (mark)
            return keep_end(mark);
    }
    const char *app = strstr(path, ".app/");
    if (!app)
        app = strstr(path, ".appex/");
    if (!app)
        return without_user(path, arena);
    while (app > path && app[-1] != '/')
        app--;
    return keep_end(app);
}

/* Compilers name files of code that no source has "<compiler-generated>", "<stdin>"... False when
 * memory is out. */
static bool
source_path(const char *file, struct fz_arena *arena, const char **ret)
{
    if (!file || !*file || *file == '<' || strstr(file, "/<compiler-generated>"))
        return true;
    *ret = without_user(file, arena);
    return *ret != NULL;
}

/* ---- images ---- */

static bool
add_image(struct stack_maker *m, int number, int *ret)
{
    *ret = -1;
    if (number < 0 || (size_t)number >= m->report->n_images)
        return true;
    if (m->images[number] == 0) {
        const struct report_image *image = &m->report->images[number];
        struct group_image *to = &m->to->images[m->to->n_images];
        const char *path = image->path ? image_path(image->path, m->arena) : NULL;
        if (image->path && !path)
            return false;
        *to = (struct group_image){.name = image->name ? keep_end(image->name) : NULL,
                                   .path = path,
                                   .origin = m->origins[number]};
        m->images[number] = (int)++m->to->n_images;
        m->bytes += (to->name ? strlen(to->name) : 0) + (path ? strlen(path) : 0);
    }
    *ret = m->images[number] - 1;
    return true;
}

/* ---- frames ---- */

/* What tools write where they know no name. */
static bool
is_no_name(const char *name)
{
    static const char *const names[] = {
        "<redacted>", "???",       "_mh_execute_header",    "__mh_execute_header",
        "(null)",     "<unknown>", "<deduplicated_symbol>", "unknown"};
    static const char *const prefixes[] = {"___lldb_unnamed_symbol", "sub_", "0x", "_mh_dylib_",
                                           "__mh_dylib_"};
    /* A symbol table's name is shown without its first underscore. */
    if (!name || !*name || sym_demangle_is_hidden(name) || fz_text_has_prefix(name, "_hidden#"))
        return true;
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    for (size_t i = 0; i < FZ_ARRAY_LEN(prefixes); i++) {
        size_t len = strlen(prefixes[i]);
        /* "sub_100004f2c", but not sub_total(). */
        if (strncmp(name, prefixes[i], len) == 0 &&
            (i == 0 || i > 2 || strspn(name + len, "0123456789abcdefABCDEF") == strlen(name + len)))
            return true;
    }
    return false;
}

/* Has the name of a function, and not that of a symbol far before it? */
static bool
is_named(const struct report_symbol *symbol)
{
    bool is_sure = symbol->source && strcmp(symbol->source, "dwarf") == 0;
    if (!is_sure && symbol->has_offset && symbol->offset > REACH_MAX)
        return false;
    return !is_no_name(symbol->function);
}

static enum fz_code
declare(struct stack_maker *m, const struct report_symbol *symbol, struct group_frame *frame,
        struct fz_error *err)
{
    struct sym_declaration found;
    enum fz_code code = sym_demangle_declaration(symbol->mangled, symbol->function, m->stack_room,
                                                 m->arena, &found, err);
    if (code != FZ_OK)
        return code;
    frame->name = found.name;
    frame->module = *found.module ? found.module : NULL;
    frame->is_artificial = !found.is_real;
    return FZ_OK;
}

/* Could a later symbol file name it? One whose name is hidden by its BCSymbolMap, also where stored
 * reports do not say that the image lacks one. */
static bool
awaits_symbols(const struct report_image *image, const struct report_symbol *symbol)
{
    bool is_hidden = symbol && symbol->function && sym_demangle_is_hidden(symbol->function);
    return image->has_uuid &&
           (image->state != REPORT_IMAGE_FOUND || image->wants_better || is_hidden);
}

static void
set_place(const struct stack_maker *m, const struct report_frame *from,
          const struct report_symbol *symbol, struct group_frame *frame)
{
    if (from->image < 0 || (size_t)from->image >= m->report->n_images)
        return;
    const struct report_image *image = &m->report->images[from->image];
    frame->awaits_symbols = awaits_symbols(image, symbol);
    frame->has_place = image->has_uuid && from->has_image_offset;
    frame->uuid = image->uuid;
    /* Of the call, not of where it returns to: clients disagree about the latter. */
    frame->offset = from->lookup_offset ? from->lookup_offset : from->image_offset;
}

static bool
is_full(const struct stack_maker *m)
{
    return m->to->n_frames >= m->room || m->bytes > m->text_room;
}

static struct group_frame *
next_frame(struct stack_maker *m)
{
    struct group_stack *to = m->to;
    if (is_full(m))
        return NULL;
    struct group_frame *frame = &to->frames[to->n_frames++];
    *frame = (struct group_frame){.image = -1, .number = m->number};
    return frame;
}

/* "Cart.total(of:)" of "total": the last part of a declaration, without arguments. */
static struct fz_span
last_part(const char *name)
{
    struct fz_span text = fz_span_make(name, strcspn(name, "("));
    for (size_t i = text.len; i > 0; i--) {
        if (text.data[i - 1] == '.' || text.data[i - 1] == ':')
            return fz_span_from(text, i);
    }
    return text;
}

/* Swift 3 and 4 call what is inlined into a thunk by its short name, without a linkage name; it is
 * the thunk's declaration. */
static bool
is_same_by_short_name(const struct report_symbol *symbol, const struct group_frame *inner,
                      const struct group_frame *outer)
{
    return inner->is_inlined && !symbol->mangled && inner->name && outer->name && outer->module &&
           fz_span_equal(last_part(inner->name), last_part(outer->name)) &&
           strlen(inner->name) < strlen(outer->name);
}

static enum fz_code
add_symbol(struct stack_maker *m, const struct report_frame *from, size_t number, int image,
           struct fz_error *err)
{
    const struct report_symbol *symbol = &from->symbols[number];
    struct group_frame made = {.image = image,
                               .number = m->number,
                               .is_inlined = symbol->inlined,
                               .line = symbol->line,
                               .symbol = symbol};
    if (is_named(symbol)) {
        enum fz_code code = declare(m, symbol, &made, err);
        if (code != FZ_OK)
            return code;
        if (!source_path(symbol->file, m->arena, &made.file))
            return fz_arena_fail(m->arena, err);
    } else if (!symbol->inlined) {
        set_place(m, from, symbol, &made);
    } else {
        return FZ_OK; /* an inlined call without a name says nothing */
    }
    if (number > 0 && m->to->n_frames > 0) {
        struct group_frame *inner = &m->to->frames[m->to->n_frames - 1];
        if (inner->symbol == symbol - 1 && is_same_by_short_name(symbol - 1, inner, &made)) {
            inner->name = made.name;
            inner->module = made.module;
            inner->is_inlined = made.is_inlined;
            return FZ_OK;
        }
    }
    struct group_frame *frame = next_frame(m);
    if (!frame)
        return FZ_OK;
    *frame = made;
    const char *const texts[] = {made.name, made.module, made.file};
    for (size_t i = 0; i < FZ_ARRAY_LEN(texts); i++)
        m->bytes += texts[i] ? strlen(texts[i]) : 0;
    return FZ_OK;
}

static enum fz_code
add_frame(struct stack_maker *m, const struct report_frame *from, struct fz_error *err)
{
    int image;
    if (!add_image(m, from->image, &image))
        return fz_arena_fail(m->arena, err);
    if (from->n_symbols == 0) {
        struct group_frame *frame = next_frame(m);
        if (!frame)
            return FZ_OK;
        frame->image = image;
        set_place(m, from, NULL, frame);
        return FZ_OK;
    }
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < from->n_symbols; i++)
        code = add_symbol(m, from, i, image, err);
    return code;
}

/* Of a long backtrace the newest frames and, for hangs, the oldest ones. */
static enum fz_code
add_frames(struct stack_maker *m, const struct report_frame *frames, size_t n, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    size_t i = 0, oldest = GROUP_FRAMES_MAX - HEAD_FRAMES;
    m->room = n > GROUP_FRAMES_MAX ? HEAD_FRAMES : GROUP_FRAMES_MAX;
    m->text_room = TEXTS_MAX / 4 * 3;
    for (; code == FZ_OK && i < n && !is_full(m); i++) {
        m->number = i;
        code = add_frame(m, &frames[i], err);
    }
    m->room = GROUP_FRAMES_MAX;
    m->text_room = TEXTS_MAX;
    /* What inlined calls left no room for, is dropped at the end. */
    if (i < n && n - i > oldest) {
        m->to->n_cut = n - i - oldest;
        i = n - oldest;
    }
    for (; code == FZ_OK && i < n && !is_full(m); i++) {
        m->number = i;
        code = add_frame(m, &frames[i], err);
    }
    m->to->n_cut += n - i;
    return code;
}

/* ---- the whole ---- */

/* Places of code without a name count only where no own frame has one: with them, each version of
 * the system would make stacks of its own. */
static void
drop_places(struct group_stack *stack)
{
    bool has_own = false;
    for (size_t i = 0; i < stack->n_frames && !has_own; i++) {
        const struct group_frame *f = &stack->frames[i];
        has_own = f->name && f->image >= 0 && group_origin_is_own(stack->images[f->image].origin);
    }
    for (size_t i = 0; i < stack->n_frames && has_own; i++) {
        struct group_frame *f = &stack->frames[i];
        if (f->image < 0 || !group_origin_is_own(stack->images[f->image].origin))
            f->has_place = false;
    }
}

/* Sentry's SDKs send it; other formats have no such member. Each string as it is in the JSON. */
static bool
set_fingerprint(const struct report *report, struct fz_arena *arena, struct group_stack *ret)
{
    struct json_walk walk = json_walk_start(fz_span_cstr(report->extra_json));
    struct json_member member, item;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    while (json_walk_next(&walk, &member)) {
        if (!fz_span_is(member.key, "fingerprint"))
            continue;
        struct json_walk items = json_walk_items(member.value);
        for (size_t i = 0; i < FINGERPRINT_PARTS && json_walk_next_item(&items, &item); i++) {
            struct fz_span text = fz_span_until(item.value, GROUP_TEXT_MAX / FINGERPRINT_PARTS - 1);
            fz_buffer_append(&out, text.data, text.len);
            fz_buffer_char(&out, '\n');
        }
        break;
    }
    if (out.len == 0 || out.failed)
        return !out.failed;
    ret->fingerprint = fz_text_clean_utf8(arena, fz_buffer_span(&out));
    return ret->fingerprint != NULL;
}

/* The frames that the stack will have at most. */
static size_t
count_calls(const struct report_frame *frames, size_t n)
{
    size_t calls = 0;
    for (size_t i = 0; i < n && calls < GROUP_FRAMES_MAX; i++)
        calls += frames[i].n_symbols > 1 ? frames[i].n_symbols : 1;
    return calls < GROUP_FRAMES_MAX ? calls : GROUP_FRAMES_MAX;
}

enum fz_code
group_stack_make(const struct report *report, struct fz_arena *arena, struct group_stack *ret,
                 struct fz_error *err)
{
    struct group_stack stack = {.app =
                                    report->process.name ? report->process.name : report->app_name};
    struct stack_maker m = {
        .report = report, .arena = arena, .to = &stack, .stack_room = sym_demangle_stack_room()};
    const struct report_thread *thread = report_crashed_thread(report);
    bool has_exception = report->n_exception_frames > 0;
    const struct report_frame *frames = has_exception ? report->exception_frames
                                        : thread      ? thread->frames
                                                      : NULL;
    size_t n = has_exception ? report->n_exception_frames : thread ? thread->n_frames : 0;
    stack.frames = fz_arena_array(arena, count_calls(frames, n), sizeof(*stack.frames));
    stack.images = fz_arena_array(arena, report->n_images, sizeof(*stack.images));
    m.images = fz_arena_array(arena, report->n_images, sizeof(*m.images));
    m.origins = group_find_origins(report, arena);
    if (!stack.frames || !stack.images || !m.images || !m.origins)
        return fz_arena_fail(arena, err);
    if (n)
        stack.source = has_exception ? GROUP_SOURCE_EXCEPTION : GROUP_SOURCE_THREAD;
    enum fz_code code = add_frames(&m, frames, n, err);
    if (code != FZ_OK)
        return code;
    if (!has_exception && thread)
        stack.n_cut += thread->n_frames_cut;
    drop_places(&stack);
    if (!group_set_class(report, arena, &stack) || !set_fingerprint(report, arena, &stack))
        return fz_arena_fail(arena, err);
    *ret = stack;
    return FZ_OK;
}
