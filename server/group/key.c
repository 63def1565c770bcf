/*
 * The key of a stack: a verdict for each frame, then the first way of these that applies.
 *
 *   a project's group-by rule            its function or module
 *   recursion without end                the own functions that repeat, from the smallest on
 *   a hang                               the outermost own frame
 *   else                                 the first own frame
 *   no own frame                         the first frame that says something, and an exception's message
 *   only main() and its like             the app's main()
 *   frames, but none says anything       "smashed stack", one for each class
 *   no frames                            the message, one for each class
 *
 * An own frame without a name takes the place of the anchor, by UUID and offset, until its symbol
 * file has come. The class is part of every key.
 */
#include <string.h>

#include "base/text.h"
#include "server/group/own.h"
#include "server/group/parts.h"

struct key_maker {
    const struct group_stack *stack;
    const struct group_rules *rules;
    struct fz_arena *arena;
    struct group_key *key;
    const struct group_skip **skips; /* of the built-in rules, NULL = none */
};

/* ---- whose frame ---- */

/* A module's name is that of its target, with _ for what an identifier cannot have; an image may
 * have an extension. */
static bool
is_module_of(const char *module, const char *name)
{
    size_t k = 0;
    while (module[k] && (module[k] == name[k] || (module[k] == '_' && name[k])))
        k++;
    return !module[k] && (!name[k] || name[k] == '.');
}

static bool
is_module_of_image(const struct group_stack *stack, const char *module)
{
    if (stack->app && is_module_of(module, stack->app))
        return true;
    for (size_t i = 0; i < stack->n_images; i++) {
        const struct group_image *image = &stack->images[i];
        if (image->name && group_origin_is_own(image->origin) && is_module_of(module, image->name))
            return true;
    }
    return false;
}

/* What other frames say about a module: some of its code is in a vendored file, or in another. */
static const char *
rule_of_module(const struct group_stack *stack, const struct group_frame *frame)
{
    const char *module = frame->module;
    if (!module)
        return NULL;
    if (group_module_is_system(module))
        return "system module";
    if (frame->file || is_module_of_image(stack, module))
        return NULL;
    for (size_t i = 0; i < stack->n_frames; i++) {
        const struct group_frame *f = &stack->frames[i];
        if (f->file && f->module && strcmp(f->module, module) == 0)
            return group_file_rule(f->file) ? "vendored module" : NULL;
    }
    return "other module";
}

static void
judge_owner(const struct key_maker *m, const struct group_frame *frame,
            struct group_verdict *verdict)
{
    const struct group_stack *stack = m->stack;
    if (frame->image < 0) {
        verdict->rule = "no image";
        return;
    }
    enum group_origin origin = stack->images[frame->image].origin;
    const char *not_own = NULL;
    verdict->rule = group_origin_rule(origin);
    if (!group_origin_is_own(origin))
        return;
    not_own = group_file_rule(frame->file);
    if (!not_own)
        not_own = rule_of_module(stack, frame);
    if (!not_own && frame->name && fz_text_has_prefix(frame->name, "std::"))
        not_own = "standard library";
    verdict->is_own = !not_own;
    if (not_own)
        verdict->rule = not_own;
}

static void
judge(struct key_maker *m, size_t i)
{
    const struct group_frame *frame = &m->stack->frames[i];
    struct group_verdict *verdict = &m->key->frames[i];
    const struct group_rule *rule = group_rules_find(
        m->rules, m->stack, frame, 1u << GROUP_OWN | 1u << GROUP_NOT_OWN | 1u << GROUP_SKIP);
    *verdict = (struct group_verdict){.use = GROUP_USE_CONTEXT};
    judge_owner(m, frame, verdict);
    if (rule && rule->effect != GROUP_SKIP) {
        verdict->is_own = rule->effect == GROUP_OWN;
        verdict->rule = rule->name;
    }
    if (rule && rule->effect == GROUP_SKIP) {
        verdict->use = GROUP_USE_SKIPPED;
        verdict->rule = rule->name;
        return;
    }
    /* What a project calls its own counts, whatever it does. */
    if (rule && rule->effect == GROUP_OWN)
        return;
    const struct group_skip *skip = group_builtin_skip(m->stack, frame);
    /* main() of an app without symbols is what dyld called. */
    bool is_main = !frame->name && verdict->is_own && i + 1 < m->stack->n_frames &&
                   group_builtin_skip(m->stack, &frame[1]) && frame[1].image >= 0 &&
                   m->stack->images[frame[1].image].name &&
                   fz_text_has_prefix(m->stack->images[frame[1].image].name, "dyld");
    static const struct group_skip main_skip = {"thread base", true};
    m->skips[i] = is_main ? &main_skip : skip;
    if (m->skips[i]) {
        verdict->use = GROUP_USE_SKIPPED;
        verdict->rule = m->skips[i]->rule;
    } else if (!frame->name && !frame->awaits_symbols) {
        /* No symbol file will ever name it. */
        verdict->use = GROUP_USE_SKIPPED;
        verdict->rule = frame->image < 0 ? "no image" : "no symbol";
    }
}

/* Swift code in the app's image whose module no file is known of: not the app's, unless nothing else
 * is. */
static void
reconsider_modules(struct key_maker *m)
{
    for (size_t i = 0; i < m->stack->n_frames; i++) {
        const struct group_verdict *v = &m->key->frames[i];
        if (v->is_own && v->use == GROUP_USE_CONTEXT)
            return;
    }
    for (size_t i = 0; i < m->stack->n_frames; i++) {
        struct group_verdict *v = &m->key->frames[i];
        if (v->use == GROUP_USE_CONTEXT && strcmp(v->rule, "other module") == 0)
            v->is_own = true;
    }
}

/* ---- hashing ---- */

static void
hash_text(struct fz_sha256 *hash, const char *text)
{
    uint32_t len = text ? (uint32_t)strlen(text) : UINT32_MAX;
    uint8_t bytes[4] = {(uint8_t)len, (uint8_t)(len >> 8), (uint8_t)(len >> 16),
                        (uint8_t)(len >> 24)};
    /* With the length before it, so that two texts do not look like one. */
    fz_sha256_add(hash, fz_span_make(bytes, sizeof(bytes)));
    fz_sha256_add(hash, fz_span_cstr(text));
}

static struct fz_sha256
hash_class(const struct group_stack *stack, const char *what)
{
    bool is_part = stack->exception && !group_is_cxx_crash(stack);
    struct fz_sha256 hash = fz_sha256_make();
    hash_text(&hash, "framezero key 1");
    hash_text(&hash, stack->kind);
    hash_text(&hash, is_part ? stack->exception : NULL);
    hash_text(&hash, stack->trap);
    hash_text(&hash, stack->termination);
    hash_text(&hash, what);
    return hash;
}

static void
hash_function(struct fz_sha256 *hash, const struct group_frame *frame)
{
    hash_text(hash, frame->module);
    hash_text(hash, frame->name);
}

/* ---- the ways ---- */

/* One frame decides. False when memory is out; so are the following. */
static bool
take_frame(struct key_maker *m, size_t i, enum group_how how)
{
    const struct group_frame *frame = &m->stack->frames[i];
    struct group_key *key = m->key;
    const char *image = frame->image >= 0 ? m->stack->images[frame->image].name : NULL;
    key->anchor_frame = (int)i;
    key->frames[i].use = GROUP_USE_ANCHOR;
    key->how = how;
    key->anchor = frame->name;
    if (frame->name) {
        bool is_own = how == GROUP_BY_OWN_FRAME || how == GROUP_BY_OUTERMOST;
        struct fz_sha256 hash = hash_class(m->stack, is_own ? "own" : "system");
        hash_function(&hash, frame);
        /* What the app did wrong is not on the stack; the message says it. */
        if (!is_own && m->stack->source == GROUP_SOURCE_EXCEPTION)
            hash_text(&hash, m->stack->message);
        fz_sha256_end(&hash, key->hash);
        return true;
    }
    key->how = GROUP_BY_PLACE;
    key->is_placeholder = true;
    struct fz_sha256 hash = hash_class(m->stack, "place");
    char uuid[FZ_UUID_TEXT] = "";
    if (frame->has_place)
        fz_uuid_format(&frame->uuid, uuid);
    key->anchor = fz_arena_printf(m->arena, "%s + 0x%llx", image ? image : "?",
                                  (unsigned long long)frame->offset);
    hash_text(&hash, uuid);
    hash_text(&hash, key->anchor);
    fz_sha256_end(&hash, key->hash);
    return key->anchor != NULL;
}

static int
compare_functions(const struct group_frame *a, const struct group_frame *b)
{
    int order = strcmp(a->module ? a->module : "", b->module ? b->module : "");
    return order ? order : strcmp(a->name, b->name);
}

/* Where the smallest rotation of a list begins. */
static size_t
smallest_rotation(const struct group_frame *const *list, size_t n)
{
    size_t best = 0;
    for (size_t start = 1; start < n; start++) {
        int order = 0;
        for (size_t i = 0; i < n && order == 0; i++)
            order = compare_functions(list[(start + i) % n], list[(best + i) % n]);
        if (order < 0)
            best = start;
    }
    return best;
}

/* The own functions of the cycle, each once where it follows itself; `ret` has room for the
 * period. */
static size_t
own_of_cycle(const struct key_maker *m, const struct group_cycle *cycle,
             const struct group_frame **ret)
{
    size_t n = 0;
    for (size_t i = cycle->first; i < cycle->first + cycle->period; i++) {
        const struct group_verdict *v = &m->key->frames[i];
        const struct group_frame *frame = &m->stack->frames[i];
        if (v->is_own && v->use == GROUP_USE_CONTEXT && frame->name &&
            (n == 0 || compare_functions(ret[n - 1], frame) != 0))
            ret[n++] = frame;
    }
    while (n > 1 && compare_functions(ret[0], ret[n - 1]) == 0)
        n--;
    return n;
}

static bool
take_cycle(struct key_maker *m, const struct group_frame **own, size_t n)
{
    struct group_key *key = m->key;
    size_t start = smallest_rotation(own, n);
    /* With one function as if it were the first own frame: a client that cut the stack has no more
     * of it. */
    struct fz_sha256 hash = hash_class(m->stack, "own");
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    for (size_t i = 0; i < n; i++) {
        const struct group_frame *frame = own[(start + i) % n];
        hash_function(&hash, frame);
        fz_buffer_printf(&text, "%s%s", i ? ", " : "", frame->name);
    }
    fz_sha256_end(&hash, key->hash);
    key->how = GROUP_BY_RECURSION;
    key->anchor_frame = (int)(own[start] - m->stack->frames);
    key->frames[key->anchor_frame].use = GROUP_USE_ANCHOR;
    key->anchor = text.failed ? NULL : fz_arena_text(m->arena, fz_buffer_span(&text));
    return key->anchor != NULL;
}

static bool
take_rule(struct key_maker *m, size_t i, const struct group_rule *rule)
{
    const struct group_frame *frame = &m->stack->frames[i];
    struct fz_sha256 hash = hash_class(m->stack, "rule");
    m->key->anchor = rule->subject == GROUP_MODULE ? frame->module : frame->name;
    hash_text(&hash, m->key->anchor);
    fz_sha256_end(&hash, m->key->hash);
    m->key->how = GROUP_BY_RULE;
    m->key->anchor_frame = (int)i;
    m->key->frames[i].use = GROUP_USE_ANCHOR;
    m->key->frames[i].rule = rule->name;
    return true;
}

/* Of the class alone, and of what is said without a stack. */
static bool
take_nothing(struct key_maker *m, enum group_how how)
{
    bool is_smashed = how == GROUP_BY_SMASHED;
    struct fz_sha256 hash = hash_class(m->stack, is_smashed ? "smashed" : "no stack");
    if (!is_smashed)
        hash_text(&hash, m->stack->message);
    fz_sha256_end(&hash, m->key->hash);
    m->key->how = how;
    m->key->anchor = is_smashed          ? "smashed stack"
                     : m->stack->message ? m->stack->message
                                         : "no stack";
    return true;
}

/* The number of the first frame of a kind, n_frames if there is none. */
enum frame_kind { FRAME_OWN, FRAME_FOREIGN, FRAME_OWN_BASE, FRAME_BASE, FRAME_NAMED };

static bool
is_frame(const struct key_maker *m, size_t i, enum frame_kind kind)
{
    const struct group_frame *frame = &m->stack->frames[i];
    const struct group_verdict *v = &m->key->frames[i];
    bool is_base = m->skips[i] && m->skips[i]->is_base && v->use == GROUP_USE_SKIPPED;
    switch (kind) {
    case FRAME_OWN:
        return v->is_own && v->use == GROUP_USE_CONTEXT;
    case FRAME_FOREIGN:
        return v->use == GROUP_USE_CONTEXT && frame->image >= 0 &&
               (frame->name || frame->has_place);
    case FRAME_OWN_BASE:
        return is_base && v->is_own && frame->name;
    case FRAME_BASE:
        return is_base;
    case FRAME_NAMED:
        return frame->name != NULL;
    }
    return false;
}

static size_t
find_frame(const struct key_maker *m, enum frame_kind kind, bool outermost)
{
    size_t n = m->stack->n_frames;
    for (size_t k = 0; k < n; k++) {
        size_t i = outermost ? n - 1 - k : k;
        if (is_frame(m, i, kind))
            return i;
    }
    return n;
}

static bool
take_own(struct key_maker *m)
{
    const struct group_frame *own[GROUP_FRAMES_MAX];
    struct group_cycle cycle;
    bool is_hang = strcmp(m->stack->kind, "hang") == 0;
    size_t n = m->stack->n_frames, n_own = 0;
    /* A hang may be in recursion, too, but not because of it. */
    if (!is_hang && group_find_cycle(m->stack, &cycle))
        n_own = own_of_cycle(m, &cycle, own);
    if (n_own)
        return take_cycle(m, own, n_own);
    size_t i = find_frame(m, FRAME_OWN, is_hang);
    if (i < n)
        return take_frame(m, i, is_hang ? GROUP_BY_OUTERMOST : GROUP_BY_OWN_FRAME);
    i = find_frame(m, FRAME_FOREIGN, false);
    if (i < n)
        return take_frame(m, i, GROUP_BY_SYSTEM);
    i = find_frame(m, FRAME_OWN_BASE, false);
    if (i < n)
        return take_frame(m, i, GROUP_BY_OWN_FRAME);
    if (n == 0)
        return take_nothing(m, GROUP_BY_NO_STACK);
    /* A whole chain of calls, down to where its thread began, that does nothing by itself. */
    i = find_frame(m, FRAME_NAMED, false);
    if (i < n && find_frame(m, FRAME_BASE, false) < n)
        return take_frame(m, i, GROUP_BY_SYSTEM);
    return take_nothing(m, GROUP_BY_SMASHED);
}

static bool
take_default(struct key_maker *m)
{
    for (size_t i = 0; i < m->stack->n_frames && m->rules->n; i++) {
        const struct group_rule *rule =
            group_rules_find(m->rules, m->stack, &m->stack->frames[i], 1u << GROUP_BY);
        if (rule)
            return take_rule(m, i, rule);
    }
    return take_own(m);
}

/* ---- fingerprints ---- */

static bool
is_default(struct fz_span part)
{
    return fz_span_is(part, "\"{{ default }}\"") || fz_span_is(part, "\"{{default}}\"");
}

/* What the client sent instead of the key, or in addition to it. */
static bool
take_fingerprint(struct key_maker *m)
{
    const char *text = m->stack->fingerprint;
    struct fz_sha256 hash = fz_sha256_make();
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer shown = fz_buffer_make(0);
    hash_text(&hash, "framezero fingerprint 1");
    for (size_t len; *text; text += len + (text[len] == '\n')) {
        len = strcspn(text, "\n");
        struct fz_span part = fz_span_make(text, len);
        if (is_default(part)) {
            fz_sha256_add(&hash, fz_span_make(m->key->hash, sizeof(m->key->hash)));
            continue;
        }
        fz_sha256_add(&hash, part);
        hash_text(&hash, ";");
        fz_buffer_printf(&shown, "%s%.*s", shown.len ? ", " : "", (int)len, text);
    }
    if (shown.len == 0) /* the key as it is */
        return !shown.failed;
    fz_sha256_end(&hash, m->key->hash);
    m->key->how = GROUP_BY_FINGERPRINT;
    m->key->is_placeholder = false;
    m->key->anchor = shown.failed ? NULL : fz_arena_text(m->arena, fz_buffer_span(&shown));
    return m->key->anchor != NULL;
}

enum fz_code
group_key(const struct group_stack *stack, const struct group_rules *rules, struct fz_arena *arena,
          struct group_key *ret, struct fz_error *err)
{
    struct group_key key = {.anchor_frame = -1};
    struct key_maker m = {.stack = stack, .rules = rules, .arena = arena, .key = &key};
    key.frames = fz_arena_array(arena, stack->n_frames, sizeof(*key.frames));
    m.skips = fz_arena_array(arena, stack->n_frames, sizeof(struct group_skip *));
    if (!key.frames || !m.skips)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < stack->n_frames; i++)
        judge(&m, i);
    reconsider_modules(&m);
    bool done = take_default(&m);
    if (done && rules->use_fingerprint && stack->fingerprint)
        done = take_fingerprint(&m);
    if (!done || !group_class_text(stack, true, arena, &key.class_text) ||
        !group_explain(stack, arena, &key))
        return fz_arena_fail(arena, err);
    *ret = key;
    return FZ_OK;
}
