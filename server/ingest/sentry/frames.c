/*
 * "stacktrace": frames, registers, and what their addresses mean.
 *
 *   {"frames":[OLDEST ... NEWEST],"registers":{"pc":"0x..."},
 *    "instruction_addr_adjustment":"auto" | "all" | "all_but_first" | "none"}
 *
 * Frames of interpreted languages have a function and a file but no address: they are kept as
 * client names at address 0.
 */
#include <stdio.h>
#include <string.h>

#include "base/json/scan.h"
#include "server/ingest/sentry/sentry.h"

enum { REGISTERS_MAX = 256 };

/* What the model has a place for, or what follows from the rest. */
static const char *const known_frame[] = {
    "instruction_addr", "image_addr", "package",  "in_app",       "symbol_addr", "function",
    "filename",         "abs_path",   "lineno",   "colno",        "platform",    "trust",
    "addr_mode",        "sym_addr",   "image_id", "sample_count", NULL};

static bool
is_known(const char *key)
{
    for (size_t i = 0; known_frame[i]; i++) {
        if (strcmp(key, known_frame[i]) == 0)
            return true;
    }
    return false;
}

static bool
has_more(const json_t *frame)
{
    const char *key;
    json_t *value;
    /* jansson's iterators take a non-const object, but do not change it. */
    json_object_foreach((json_t *)(uintptr_t)frame, key, value)
    {
        if (!json_is_null(value) && !is_known(key))
            return true;
    }
    return false;
}

static uint32_t
take_u32(struct ingest_builder *b, const json_t *object, const char *where, const char *key)
{
    uint64_t number;
    return ingest_json_u64(b, object, where, key, &number) && number <= UINT32_MAX
               ? (uint32_t)number
               : 0;
}

static enum report_trust
trust_of(const json_t *frame)
{
    const char *text = json_string_value(json_object_get(frame, "trust"));
    if (!text)
        return REPORT_TRUST_GIVEN;
    if (strcmp(text, "context") == 0)
        return REPORT_TRUST_CONTEXT;
    if (strcmp(text, "fp") == 0)
        return REPORT_TRUST_FRAME_POINTER;
    return strcmp(text, "cfi") == 0 ? REPORT_TRUST_UNWIND : REPORT_TRUST_GIVEN;
}

static void
take_names(struct ingest_builder *b, const json_t *object, const char *where,
           struct report_frame *frame)
{
    struct report_symbol symbol = {.function = ingest_json_text(b, object, where, "function"),
                                   .file = ingest_json_text(b, object, where, "abs_path"),
                                   .line = take_u32(b, object, where, "lineno"),
                                   .column = take_u32(b, object, where, "colno")};
    if (!symbol.file)
        symbol.file = ingest_json_text(b, object, where, "filename");
    if (!symbol.function && frame->addr == 0 && symbol.file)
        symbol.function = "<unknown>";
    uint64_t start;
    if (ingest_json_u64(b, object, where, "symbol_addr", &start) && start && start <= frame->addr) {
        frame->has_client_start = symbol.has_offset = true;
        frame->client_start = start;
        symbol.offset = frame->addr - start;
    }
    ingest_add_client_symbol(b, frame, &symbol);
}

/* "rel:3": the address counts from the start of image 3. */
static void
take_mode(struct sentry *s, const json_t *object, const char *where, struct report_frame *frame)
{
    const struct report *r = s->b.report;
    const char *mode = json_string_value(json_object_get(object, "addr_mode"));
    uint64_t number;
    if (!mode || strncmp(mode, "rel:", 4) != 0)
        return;
    json_t *digits = json_string(mode + 4);
    if (!digits)
        s->b.failed = true;
    else if (json_scan_u64(digits, &number) && number < r->n_images)
        frame->addr += r->images[number].addr;
    else
        report_note(s->b.report, s->b.arena, "%s.addr_mode: no such image", where);
    json_decref(digits);
}

static bool
take_frame(struct sentry *s, const json_t *object, const char *where, struct report_frame *ret)
{
    struct ingest_builder *b = &s->b;
    struct report_frame frame = {.image = -1};
    if (!json_is_object(object))
        return false;
    const json_t *addr = json_object_get(object, "instruction_addr");
    bool has_addr = json_scan_u64(addr, &frame.addr);
    if (addr && !json_is_null(addr) && !has_addr)
        report_note(b->report, b->arena, "%s.instruction_addr: not an address", where);
    if (has_addr)
        take_mode(s, object, where, &frame);
    take_names(b, object, where, &frame);
    if (!has_addr && frame.n_client == 0)
        return false;
    frame.samples = take_u32(b, object, where, "sample_count");
    frame.in_app = ingest_json_bool(b, object, where, "in_app", false);
    frame.trust = trust_of(object);
    uint64_t image = 0;
    if (ingest_json_u64(b, object, where, "image_addr", &image))
        sentry_see_package(s, image, json_string_value(json_object_get(object, "package")));
    /* No instruction of arm64 starts there, so the client has subtracted already (Dart does). */
    if (s->is_arm64 && frame.addr % 4 != 0)
        frame.adjust = REPORT_ADJUST_EXACT;
    *ret = frame;
    return true;
}

static void
take_frames(struct sentry *s, const json_t *list, const char *where, struct sentry_stack *stack)
{
    struct ingest_builder *b = &s->b;
    size_t n = json_array_size(list);
    size_t max = ingest_limit(b, where, n, b->limits->frames);
    stack->n_frames_cut = n - max;
    stack->frames = ingest_alloc(b, max, sizeof(*stack->frames));
    for (size_t i = 0; i < max && !b->failed; i++) {
        char at[INGEST_WHERE];
        size_t number = n - 1 - i;
        const json_t *object = json_array_get(list, number);
        struct report_frame *frame = &stack->frames[stack->n_frames];
        snprintf(at, sizeof(at), "%.40s[%zu]", where, number);
        stack->has_more = stack->has_more || has_more(object);
        if (!take_frame(s, object, at, frame)) {
            report_note(b->report, b->arena, "%s: no address and no function", at);
            continue;
        }
        /* When frames before it are left out, this one is still a return address. */
        if (i > 0 && stack->n_frames == 0 && frame->adjust == REPORT_ADJUST_AUTO)
            frame->adjust = REPORT_ADJUST_RETURN;
        stack->n_frames++;
    }
}

static void
take_registers(struct ingest_builder *b, const json_t *object, const char *where,
               struct sentry_stack *stack)
{
    size_t max = ingest_limit(b, where, json_object_size(object), REGISTERS_MAX);
    if (max == 0)
        return;
    stack->registers = ingest_alloc(b, max, sizeof(*stack->registers));
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        uint64_t number;
        if (b->failed || stack->n_registers == max)
            break;
        if (!json_scan_u64(value, &number)) {
            if (!json_is_null(value))
                report_note(b->report, b->arena, "%.40s.%.40s: not a register's value", where,
                            name);
            continue;
        }
        const char *copy = fz_arena_strdup(b->arena, name);
        b->failed = !copy;
        stack->registers[stack->n_registers++] = (struct report_register){copy, number};
    }
}

/* The client may say what its addresses mean. */
static void
apply_adjustment(struct ingest_builder *b, const json_t *object, const char *where,
                 struct sentry_stack *stack)
{
    static const struct {
        const char *name;
        enum report_adjust first, others;
    } rows[] = {
        {"auto", REPORT_ADJUST_AUTO, REPORT_ADJUST_AUTO},
        {"all", REPORT_ADJUST_RETURN, REPORT_ADJUST_RETURN},
        {"all_but_first", REPORT_ADJUST_EXACT, REPORT_ADJUST_RETURN},
        {"none", REPORT_ADJUST_EXACT, REPORT_ADJUST_EXACT},
    };
    const char *mode = ingest_json_text(b, object, where, "instruction_addr_adjustment");
    for (size_t i = 0; mode && i < FZ_ARRAY_LEN(rows); i++) {
        if (strcmp(rows[i].name, mode) != 0)
            continue;
        for (size_t k = 0; i > 0 && k < stack->n_frames; k++)
            stack->frames[k].adjust = k ? rows[i].others : rows[i].first;
        return;
    }
    if (mode)
        report_note(b->report, b->arena, "%s.instruction_addr_adjustment: '%.20s' is not known",
                    where, mode);
}

void
sentry_take_stack(struct sentry *s, const json_t *owner, const char *where,
                  struct sentry_stack *ret)
{
    struct ingest_builder *b = &s->b;
    struct sentry_stack stack = {0};
    char at[INGEST_WHERE];
    const json_t *object = ingest_json_member(b, owner, where, "stacktrace", JSON_OBJECT);
    snprintf(at, sizeof(at), "%.40s.registers", where);
    take_registers(b, ingest_json_member(b, object, where, "registers", JSON_OBJECT), at, &stack);
    snprintf(at, sizeof(at), "%.40s.frames", where);
    take_frames(s, ingest_json_member(b, object, where, "frames", JSON_ARRAY), at, &stack);
    apply_adjustment(b, object, where, &stack);
    *ret = stack;
}

static bool
find_pc(const struct sentry_stack *stack, uint64_t *ret)
{
    static const char *const names[] = {"pc", "rip", "eip"};
    for (size_t i = 0; i < stack->n_registers; i++) {
        for (size_t k = 0; k < FZ_ARRAY_LEN(names); k++) {
            if (strcmp(stack->registers[i].name, names[k]) == 0) {
                *ret = stack->registers[i].value;
                return true;
            }
        }
    }
    return false;
}

/*
 * Two cases in which the innermost frame of a crash is a return address like the others: the stack
 * is that of a throw or of a call to the SDK (then registers, if any, are the handler's), or
 * KSCrash dropped the frames of the signal handler and the pc with them, which shows in another pc.
 */
void
sentry_adjust_crashed(const struct sentry *s, struct sentry_stack *stack)
{
    uint64_t pc = 0;
    if (stack->n_frames == 0 || stack->frames[0].adjust != REPORT_ADJUST_AUTO)
        return;
    bool has_pc = find_pc(stack, &pc);
    /* Bit 0 of a Thumb address may stand in one and be missing in the other. */
    bool is_elsewhere = has_pc && ((pc ^ stack->frames[0].addr) & ~(uint64_t)1) != 0;
    if (s->is_thrown || (s->is_made && !has_pc) || (s->drops_frames && is_elsewhere))
        stack->frames[0].adjust = REPORT_ADJUST_RETURN;
}
