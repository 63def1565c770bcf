/*
 * "stacktrace": frames, registers, and which addresses are return addresses.
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

/* Members that the model has a place for, or that follow from others. */
static const char *const known_frame[] = {
    "instruction_addr", "image_addr", "package",  "in_app",       "symbol_addr", "function",
    "filename",         "abs_path",   "lineno",   "colno",        "platform",    "trust",
    "addr_mode",        "sym_addr",   "image_id", "sample_count", NULL};

static bool
has_more(const json_t *frame)
{
    const char *key;
    json_t *value;
    /* jansson's iterators take a non-const object, but do not change it. */
    json_object_foreach((json_t *)(uintptr_t)frame, key, value)
    {
        /* SDKs send all members that they know, with null for most. */
        if (!json_is_null(value) && !ingest_is_one_of(fz_span_cstr(key), known_frame))
            return true;
    }
    return false;
}

static enum report_trust
trust_of(const json_t *frame)
{
    const char *text = json_string_value(json_object_get(frame, "trust"));
    /* Only Sentry's own minidump processing and a few SDKs say how a frame was found. */
    if (!text)
        return REPORT_TRUST_GIVEN;
    if (strcmp(text, "context") == 0)
        return REPORT_TRUST_CONTEXT;
    if (strcmp(text, "fp") == 0)
        return REPORT_TRUST_FRAME_POINTER;
    return strcmp(text, "cfi") == 0 ? REPORT_TRUST_CFI : REPORT_TRUST_GIVEN;
}

static void
read_names(struct ingest_builder *b, const json_t *object, const char *where,
           struct report_frame *frame)
{
    struct report_symbol symbol = {.function = ingest_json_text(b, object, where, "function"),
                                   .file = ingest_json_text(b, object, where, "abs_path"),
                                   .line = ingest_json_u32(b, object, where, "lineno"),
                                   .column = ingest_json_u32(b, object, where, "colno")};
    /* abs_path is what the compiler saw; filename is short, for display. */
    if (!symbol.file)
        symbol.file = ingest_json_text(b, object, where, "filename");
    if (!symbol.function && frame->addr == 0 && symbol.file)
        /* A frame needs a name to be shown, and this one has neither address nor function. */
        symbol.function = "<unknown>";
    uint64_t start;
    if (ingest_json_u64(b, object, where, "symbol_addr", &start))
        ingest_set_start(frame, &symbol, start);
    ingest_add_client_symbol(b, frame, &symbol);
}

/* "rel:3": the address counts from the start of image 3. */
static void
read_mode(struct sentry *s, const json_t *object, const char *where, struct report_frame *frame)
{
    const struct report *r = s->b.report;
    const char *mode = json_string_value(json_object_get(object, "addr_mode"));
    uint64_t number;
    if (!mode || strncmp(mode, "rel:", 4) != 0)
        return;
    /* By the reader of all other numbers, which checks the range. */
    json_t *digits = json_string(mode + 4);
    if (!digits)
        s->b.failed = true;
    else if (json_scan_u64(digits, &number) && number < r->n_images)
        frame->addr += r->images[number].addr;
    else
        ingest_note(&s->b, "%s.addr_mode: no such image", where);
    json_decref(digits);
}

/* One frame, for ingest_json_stack(). */
static bool
read_frame(void *user, const json_t *object, const char *where, struct report_frame *ret)
{
    struct sentry *s = user;
    struct ingest_builder *b = &s->b;
    struct report_frame frame = *ret;
    s->has_more = s->has_more || has_more(object);
    const json_t *addr = json_object_get(object, "instruction_addr");
    bool has_addr = json_scan_u64(addr, &frame.addr);
    if (addr && !json_is_null(addr) && !has_addr)
        /* The frame stays if it has a name. */
        ingest_note(b, "%s.instruction_addr: not an address", where);
    if (has_addr)
        read_mode(s, object, where, &frame);
    read_names(b, object, where, &frame);
    if (!has_addr && frame.n_client == 0) {
        ingest_note(b, "%s: no address and no function", where);
        return false;
    }
    frame.samples = ingest_json_u32(b, object, where, "sample_count");
    frame.in_app = ingest_json_bool(b, object, where, "in_app", false);
    frame.trust = trust_of(object);
    uint64_t image = 0;
    if (ingest_json_u64(b, object, where, "image_addr", &image))
        /* The frame may be in an image that debug_meta lacks: SDKs list only those of one stack. */
        sentry_add_package(s, image, json_string_value(json_object_get(object, "package")));
    /* No instruction of arm64 starts there, so the client has subtracted already (Dart does). */
    if (s->is_arm64 && frame.addr % 4 != 0)
        frame.adjust = REPORT_ADJUST_EXACT;
    *ret = frame;
    return true;
}

/* The client may state what its addresses are. */
static void
apply_adjustment(struct ingest_builder *b, const json_t *object, const char *where,
                 struct report_thread *thread)
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
        for (size_t k = 0; i > 0 && k < thread->n_frames; k++)
            /* "auto" is the model's own rule, so it changes nothing. */
            thread->frames[k].adjust = k ? rows[i].others : rows[i].first;
        return;
    }
    if (mode)
        ingest_note(b, "%s.instruction_addr_adjustment: '%.20s' is not known", where, mode);
}

void
sentry_read_stack(struct sentry *s, const json_t *owner, const char *where,
                  struct report_thread *ret)
{
    struct ingest_builder *b = &s->b;
    char at[INGEST_WHERE];
    const json_t *object = ingest_json_member(b, owner, where, "stacktrace", JSON_OBJECT);
    const json_t *registers = ingest_json_member(b, object, where, "registers", JSON_OBJECT);
    const json_t *frames = ingest_json_member(b, object, where, "frames", JSON_ARRAY);
    ingest_json_registers(b, registers, where, ret);
    snprintf(at, sizeof(at), "%.40s.frames", where);
    /* For this stack alone: the caller keeps frames as they came if it is set. */
    s->has_more = false;
    struct ingest_stack stack = ingest_json_stack(b, frames, at, true, read_frame, s);
    ingest_set_stack(ret, &stack);
    apply_adjustment(b, object, where, ret);
}

/*
 * Two cases in which the innermost frame of a crash is a return address like the others: the stack
 * is that of a throw or of a call to the SDK (then registers, if any, are the handler's), or
 * KSCrash dropped the frames of the signal handler and the pc with them, which shows in another pc.
 */
void
sentry_adjust_crashed(const struct sentry *s, struct report_thread *thread)
{
    bool is_made = s->is_made && thread->n_registers == 0;
    bool is_cut = s->drops_frames && ingest_starts_elsewhere(thread);
    if (s->is_thrown || is_made || is_cut)
        ingest_first_is_return(thread->frames, thread->n_frames);
}
