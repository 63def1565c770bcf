/* A key in words: the class, the title of its issue, and why it is this key. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "server/group/parts.h"

enum { WORDS_MAX = 6, SKIPPED_MAX = 5 };

/* ---- one line ---- */

/* Of the character at `at`: C0 and C1 controls, separators of lines, and the marks of direction (UAX #9),
 * which make "gpj.exe" of "exe.jpg". Names come from clients. */
static bool
is_shown(const uint8_t *at, size_t len)
{
    uint32_t c = at[0];
    if (len == 1)
        return c >= ' ' && c != 0x7f;
    c = len == 2 ? (c & 0x1f) << 6 | (at[1] & 0x3f) : 0;
    if (len == 3)
        c = (at[0] & 0x0fu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
    return !(c >= 0x80 && c < 0xa0) && c != 0x61c && c != 0x200e && c != 0x200f &&
           !(c >= 0x2028 && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069) && c != 0xfeff;
}

const char *
group_line(const char *text, struct fz_arena *arena)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct fz_span rest = fz_span_cstr(text);
    while (rest.len) {
        size_t len = fz_text_utf8_len(rest);
        if (len && is_shown(rest.data, len))
            fz_buffer_append(&out, rest.data, len);
        else
            fz_buffer_char(&out, ' ');
        rest = fz_span_from(rest, len ? len : 1);
    }
    return out.failed ? NULL : fz_arena_text(arena, fz_text_trim(fz_buffer_span(&out)));
}

/* ---- the class ---- */

/* What a person calls a kind of report; others are called as they are. */
static const char *
kind_text(const char *kind)
{
    static const struct {
        const char *kind, *text;
    } kinds[] = {{"cpu", "CPU use"},
                 {"disk_write", "disk writes"},
                 {"launch", "slow launch"},
                 {"memory", "memory use"}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i].kind, kind) == 0)
            return kinds[i].text;
    }
    return kind;
}

/* "NSRangeException", "Swift: index out of range", "hang 0x8badf00d", "crash". */
bool
group_class_text(const struct group_stack *stack, bool with_type, struct fz_arena *arena,
                 const char **ret)
{
    bool is_crash = strcmp(stack->kind, "crash") == 0;
    bool has_name = with_type || !group_is_cxx_crash(stack);
    const char *parts[4] = {has_name ? stack->exception : NULL, stack->trap ? "Swift: " : NULL,
                            stack->trap, stack->termination};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    if (!is_crash || (!parts[0] && !parts[2] && !parts[3]))
        fz_buffer_text(&text, kind_text(stack->kind));
    for (size_t i = 0; i < 4; i++) {
        if (!parts[i])
            continue;
        fz_buffer_text(&text, text.len && i != 2 ? " " : "");
        fz_buffer_text(&text, parts[i]);
    }
    *ret = text.failed ? NULL : fz_arena_text(arena, fz_buffer_span(&text));
    return *ret != NULL;
}

/* ---- titles ---- */

static const char *
capital(const char *text, struct fz_arena *arena)
{
    char *copy = fz_arena_strdup(arena, text);
    if (copy && *copy >= 'a' && *copy <= 'z')
        *copy = (char)(*copy - 'a' + 'A');
    return copy;
}

static bool
set_title(const struct group_stack *stack, struct fz_arena *arena, struct group_key *key)
{
    const char *class_text = capital(key->class_text, arena);
    if (!class_text)
        return false;
    if (key->how == GROUP_BY_NO_STACK)
        key->title = fz_arena_printf(arena, "%s: %s", class_text,
                                     stack->message ? stack->message : "no stack");
    else if (key->how == GROUP_BY_SMASHED)
        key->title = fz_arena_printf(arena, "%s with a smashed stack", class_text);
    else if (key->how == GROUP_BY_RECURSION)
        key->title = fz_arena_printf(arena, "%s: recursion of %s", class_text, key->anchor);
    else if (strcmp(key->class_text, "crash") == 0)
        key->title = key->anchor;
    else
        key->title = fz_arena_printf(arena, "%s in %s", class_text, key->anchor);
    key->title = key->title ? group_line(key->title, arena) : NULL;
    if (key->title && !*key->title)
        key->title = "(no title)";
    return key->title != NULL;
}

/* ---- why ---- */

static const char *
first_words(const struct group_key *key, struct fz_arena *arena)
{
    static const char *const forms[] = {
        [GROUP_BY_OWN_FRAME] = "first own frame: %s",
        [GROUP_BY_OUTERMOST] = "outermost own frame of the hang: %s",
        [GROUP_BY_RECURSION] = "recursion that does not end: %s",
        [GROUP_BY_RULE] = "a project rule groups by: %s",
        [GROUP_BY_FINGERPRINT] = "fingerprint of the client: %s",
        [GROUP_BY_SYSTEM] = "no own frame; first frame that says something: %s",
        [GROUP_BY_PLACE] = "no name yet; place of the first frame that counts: %s",
        [GROUP_BY_SMASHED] = "no frame says anything: %s",
        [GROUP_BY_NO_STACK] = "no stack: %s",
    };
    const char *form = forms[key->how], *at = strstr(form, "%s");
    return fz_arena_printf(arena, "%.*s%s", (int)(at - form), form, key->anchor);
}

/* "skipped: objc_msgSend (memory), abort (raising)": what is before the anchor, for hangs after
 * it. */
static const char *
skipped_words(const struct group_stack *stack, const struct group_key *key, struct fz_arena *arena)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    bool backwards = key->how == GROUP_BY_OUTERMOST;
    size_t n = stack->n_frames, shown = 0, skipped = 0;
    size_t end = key->anchor_frame < 0 ? n : (size_t)key->anchor_frame;
    if (backwards)
        end = n - 1 - end;
    for (size_t k = 0; k < end; k++) {
        size_t i = backwards ? n - 1 - k : k;
        if (key->frames[i].is_own && key->frames[i].use == GROUP_USE_CONTEXT)
            continue;
        skipped++;
        if (!stack->frames[i].name || shown == SKIPPED_MAX)
            continue;
        fz_buffer_printf(&text, "%s%s (%s)", shown++ ? ", " : "skipped: ", stack->frames[i].name,
                         key->frames[i].rule);
    }
    if (skipped > shown)
        fz_buffer_printf(&text, shown ? " and %zu more" : "skipped: %zu frames", skipped - shown);
    return text.failed ? NULL : fz_arena_text(arena, fz_buffer_span(&text));
}

bool
group_explain(const struct group_stack *stack, struct fz_arena *arena, struct group_key *key)
{
    const char **words = fz_arena_array(arena, WORDS_MAX, sizeof(*words));
    const struct group_frame *frame =
        key->anchor_frame >= 0 ? &stack->frames[key->anchor_frame] : NULL;
    bool says_message = stack->message &&
                        (key->how == GROUP_BY_NO_STACK ||
                         (key->how == GROUP_BY_SYSTEM && stack->source == GROUP_SOURCE_EXCEPTION));
    const char *class_text;
    size_t n = 0;
    if (!words || !group_class_text(stack, false, arena, &class_text) ||
        !set_title(stack, arena, key))
        return false;
    words[n++] = first_words(key, arena);
    words[n++] = fz_arena_printf(arena, "class: %s", class_text);
    if (frame && frame->module)
        words[n++] = fz_arena_printf(arena, "module: %s", frame->module);
    if (says_message && key->how == GROUP_BY_SYSTEM)
        words[n++] = fz_arena_printf(arena, "message: %s", stack->message);
    if (frame)
        words[n++] = fz_arena_printf(arena, "backtrace: of the %s",
                                     stack->source == GROUP_SOURCE_EXCEPTION ? "exception"
                                                                             : "crashed thread");
    const char *skipped = skipped_words(stack, key, arena);
    if (!skipped)
        return false;
    if (*skipped)
        words[n++] = skipped;
    for (size_t i = 0; i < n; i++) {
        words[i] = words[i] ? group_line(words[i], arena) : NULL;
        if (!words[i])
            return false;
    }
    key->words = words;
    key->n_words = n;
    return true;
}
