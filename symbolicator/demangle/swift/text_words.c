/*
 * The words before an entity in readable Swift text: wrappers, as in declare.c.
 */
#include "symbolicator/demangle/swift/text.h"

#include "base/attr.h"
#include "base/text.h"

enum { WRAPPERS_MAX = 64 }; /* each may search the whole text */

enum what {
    WORDS,     /* of what follows */
    BRACKETS,  /* of what follows "> of " */
    NUMBER_IN, /* of what follows " in " */
    NUMBER_OF, /* of what follows " of " */
    KEY_PATH,  /* of what ends before " : " */
    WITNESS,   /* of the requirement before " in conformance " in the type after it */
    OVERRIDE,  /* of what follows " dispatching to " */
    STATIC,
    NOTHING,
};

static const struct wrapper {
    const char *prefix;
    enum what what;
} wrappers[] = {
    {"static ", STATIC},
    {"specialized ", WORDS},
    {"generic specialization <", BRACKETS},
    {"generic partial specialization <", BRACKETS},
    {"generic not re-abstracted specialization <", BRACKETS},
    {"generic pre-specialization <", BRACKETS},
    {"function signature specialization <", BRACKETS},
    {"inlined generic function <", BRACKETS},
    {"closure #", NUMBER_IN},
    {"implicit closure #", NUMBER_IN},
    {"merged ", WORDS},
    {"@objc completion handler", NOTHING},
    {"@objc ", WORDS},
    {"@nonobjc ", WORDS},
    {"dynamic ", WORDS},
    {"override ", WORDS},
    {"super ", WORDS},
    {"partial apply forwarder for ", WORDS},
    {"partial apply ObjC forwarder for ", WORDS},
    {"partial apply for ", WORDS},
    {"protocol witness table", NOTHING},
    {"protocol witness for ", WITNESS},
    {"vtable thunk for ", OVERRIDE},
    {"dispatch thunk of ", WORDS},
    {"curry thunk of ", WORDS},
    {"identity thunk of ", WORDS},
    {"hop to main actor thunk of ", WORDS},
    {"distributed thunk ", WORDS},
    {"back deployment thunk for ", WORDS},
    {"back deployment fallback for ", WORDS},
    {"method descriptor for ", WORDS},
    {"async function pointer to ", WORDS},
    {"coro function pointer to ", WORDS},
    {"default override of ", WORDS},
    {"distributed accessor for ", WORDS},
    {"forward-mode derivative of ", WORDS},
    {"reverse-mode derivative of ", WORDS},
    {"pullback of ", WORDS},
    {"differential of ", WORDS},
    {"default argument ", NUMBER_OF},
    {"variable initialization expression of ", WORDS},
    {"property wrapper backing initializer of ", WORDS},
    {"property wrapper init from projected value of ", WORDS},
    {"key path getter for ", KEY_PATH},
    {"key path setter for ", KEY_PATH},
    {"outlined variable #", NUMBER_OF},
    {"outlined read-only object #", NUMBER_OF},
    {"outlined ", NOTHING},
    {"reabstraction thunk ", NOTHING},
    {"thunk for ", NOTHING},
    {"lazy protocol witness table ", NOTHING},
    {"associated type ", NOTHING},
    {"base witness table accessor ", NOTHING},
    {"instantiation function for ", NOTHING},
    {"type metadata ", NOTHING},
    {"one-time initialization token ", NOTHING},
};

bool
sym_swift_text_is_word(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '`' || c >= 0x80;
}

static bool
is_open(uint8_t c)
{
    return c == '(' || c == '<' || c == '[';
}

/* Brackets that close, but not "->". */
static bool
is_close(struct fz_span text, size_t at)
{
    uint8_t c = text.data[at];
    return c == ')' || c == ']' || (c == '>' && (at == 0 || text.data[at - 1] != '-'));
}

size_t
sym_swift_text_find(struct fz_span text, const char *word)
{
    size_t depth = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (depth == 0 && text.data[i] == (uint8_t)word[0] &&
            fz_span_begins(fz_span_from(text, i), word))
            return i;
        if (is_open(text.data[i]))
            depth++;
        else if (depth > 0 && is_close(text, i))
            depth--;
    }
    return SIZE_MAX;
}

size_t
sym_swift_text_after(struct fz_span text, size_t at)
{
    size_t depth = 0;
    for (; at < text.len; at++) {
        if (is_open(text.data[at]))
            depth++;
        else if (is_close(text, at) && --depth == 0)
            return at + 1;
    }
    return SIZE_MAX;
}

/* The position after the "<" at the start is closed, counting no other brackets; the end of the text
 * if it is not. */
static size_t
after_angle(struct fz_span text)
{
    size_t depth = 0;
    for (size_t at = 0; at < text.len; at++) {
        depth += text.data[at] == '<';
        if (text.data[at] == '>' && is_close(text, at) && --depth == 0)
            return at + 1;
    }
    return text.len;
}

void
sym_swift_text_note(struct sym_swift_text *r, struct fz_span words)
{
    if (r->noting)
        sym_declared_note_span(r->to, words);
}

/* Go past `word`, which ends the operand of a wrapper. */
static bool
skip_past(struct sym_swift_text *r, const char *word)
{
    size_t at = sym_swift_text_find(r->text, word);
    if (at == SIZE_MAX)
        return false;
    /* "closure #1" in full is followed by its type. */
    size_t number = 0;
    while (number < at && r->text.data[number] >= '0' && r->text.data[number] <= '9')
        number++;
    sym_swift_text_note(r, fz_span_until(r->text, number));
    sym_swift_text_note(r, fz_span_cstr(word));
    r->text = fz_span_from(r->text, at + strlen(word));
    return true;
}

/* "P.f(x:) in conformance T": the requirement without its protocol, and T. */
static bool
unwrap_witness(struct sym_swift_text *r)
{
    static const char mark[] = " in conformance ";
    static const char *const accessors[] = {".getter", ".setter", ".read", ".modify"};
    size_t at = sym_swift_text_find(r->text, mark);
    if (at == SIZE_MAX)
        return false;
    struct fz_span type = fz_span_from(r->text, at + sizeof(mark) - 1);
    size_t signature = fz_span_begins(type, "<") ? sym_swift_text_after(type, 0) : SIZE_MAX;
    if (signature != SIZE_MAX) /* "<A> Cart<A>" */
        type = fz_span_from(type, signature + 1);
    r->witness_type = fz_span_until(type, sym_swift_text_find(type, " : "));
    r->text = fz_span_until(r->text, at);
    if (fz_span_begins(r->text, "static ")) {
        r->is_static = true;
        r->text = fz_span_from(r->text, sizeof("static ") - 1);
    }
    struct fz_span path = fz_span_until(r->text, sym_swift_text_find(r->text, "("));
    path = fz_span_until(path, sym_swift_text_find(path, "<"));
    path = fz_span_until(path, sym_swift_text_find(path, " : "));
    for (size_t i = 0; i < FZ_ARRAY_LEN(accessors); i++) {
        if (fz_span_ends(path, accessors[i])) {
            path = fz_span_until(path, path.len - strlen(accessors[i]));
            break;
        }
    }
    size_t dot = fz_text_find_last(path, ".");
    if (dot == SIZE_MAX)
        return false;
    r->text = fz_span_from(r->text, dot + 1);
    return true;
}

/* "(1) await resume partial function for ": false if there is none. */
static bool
skip_resume(struct sym_swift_text *r)
{
    static const char mark[] = " resume partial function for ";
    size_t close = fz_span_begins(r->text, "(") ? sym_swift_text_after(r->text, 0) : SIZE_MAX;
    struct fz_span rest = close == SIZE_MAX ? fz_span_make(NULL, 0) : fz_span_from(r->text, close);
    if (!fz_span_begins(rest, " await") && !fz_span_begins(rest, " suspend"))
        return false;
    size_t at = fz_text_find(fz_span_until(rest, sizeof(" suspend") + sizeof(mark)), mark);
    if (at == SIZE_MAX)
        return false;
    sym_swift_text_note(r, fz_span_until(rest, at + sizeof(mark) - 1));
    r->text = fz_span_from(rest, at + sizeof(mark) - 1);
    r->n_wrappers++;
    return true;
}

/* Take one wrapper off. False if its text is not as it should be. */
static bool
take_off(struct sym_swift_text *r, const struct wrapper *wrapper)
{
    size_t len = strlen(wrapper->prefix);
    if (wrapper->what == STATIC) {
        r->is_static = true;
        r->text = fz_span_from(r->text, len);
        return true;
    }
    r->n_wrappers++;
    sym_swift_text_note(r,
                        fz_span_make(wrapper->prefix, wrapper->what == BRACKETS ? len - 2 : len));
    r->text = fz_span_from(r->text, wrapper->what == BRACKETS ? len - 1 : len);
    switch (wrapper->what) {
    case NUMBER_IN:
        return skip_past(r, " in ");
    case BRACKETS:
        /* Swift leaves square brackets in it open. */
        r->text = fz_span_from(r->text, after_angle(r->text));
        return skip_past(r, " of ");
    case NUMBER_OF:
        return skip_past(r, " of ");
    case OVERRIDE:
        return skip_past(r, " dispatching to ");
    case WITNESS:
        return unwrap_witness(r);
    case KEY_PATH:
        r->text = fz_span_until(r->text, sym_swift_text_find(r->text, " : "));
        return true;
    case WORDS:
    case STATIC:
    case NOTHING:
        break;
    }
    return true;
}

enum sym_swift_text_result
sym_swift_text_unwrap(struct sym_swift_text *r)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(wrappers); i++) {
        if (fz_span_begins(r->text, wrappers[i].prefix)) {
            if (wrappers[i].what == NOTHING)
                return SWIFT_TEXT_NONE;
            if (!take_off(r, &wrappers[i]) || r->n_wrappers > WRAPPERS_MAX)
                return SWIFT_TEXT_OTHER;
            i = SIZE_MAX; /* wrappers come in any order */
        } else if (i + 1 == FZ_ARRAY_LEN(wrappers) && skip_resume(r)) {
            i = SIZE_MAX;
        }
    }
    return SWIFT_TEXT_DECLARED;
}
