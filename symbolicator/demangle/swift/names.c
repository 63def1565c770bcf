/*
 * Identifiers, operator names, private and local names.
 *
 *   3foo             "foo"
 *   03foo4BarC_B     "foo" + "Bar" ... : after a leading 0, letters refer to words of earlier
 *                    identifiers, the last in upper case; words begin at upper case letters
 *   0012vergenza_JFa Punycode, marked by 00: "A" to "J" are the digits 26 to 35, and ASCII
 *                    characters that symbols cannot have are written as U+D800 + code
 */
#include "symbolicator/demangle/swift/parse.h"

#include "base/buffer.h"
#include "symbolicator/demangle/language.h"

enum {
    IDENTIFIER_MAX = 64 * 1024,
    CODES_MAX = 8192, /* inserting takes time by their square */
    ASCII_CODES = 0xd800,
};

struct fz_span
sym_swift_punycode(struct fz_span text, struct fz_arena *arena)
{
    struct fz_span none = {NULL, 0};
    uint32_t *codes = text.len > CODES_MAX ? NULL : fz_arena_array(arena, text.len, sizeof(*codes));
    size_t split = text.len;
    if (!codes)
        return none;
    /* The last underscore separates: the basic characters may contain others. */
    while (split > 0 && text.data[split - 1] != '_')
        split--;
    struct fz_span basic = fz_span_make(text.data, split > 0 ? split - 1 : 0);
    struct fz_span encoded = fz_span_make(text.data + split, text.len - split);
    size_t n = sym_demangle_punycode(basic, encoded, 'A', codes, text.len);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    for (size_t i = 0; i < n; i++) {
        uint32_t code = codes[i];
        if (code >= ASCII_CODES && code < ASCII_CODES + 0x80)
            code -= ASCII_CODES;
        else if (code >= 0xd800 && code < 0xe000)
            return none; /* other surrogates are not characters */
        sym_demangle_put_utf8(code, &out);
    }
    const char *copy = n > 0 ? fz_arena_text(arena, fz_buffer_span(&out)) : NULL;
    return copy ? fz_span_make(copy, out.len) : none;
}

static bool
is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool
is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool
starts_word(char c)
{
    /* As isWordStart() of Swift's ManglingUtils.h. */
    return !(c >= '0' && c <= '9') && c != '_' && c != '\0';
}

static bool
ends_word(char c, char before)
{
    /* As isWordEnd(): "HTTPServer" is one word, "httpServer" two. */
    return c == '_' || c == '\0' || (!is_upper(before) && is_upper(c));
}

/* A reference takes one byte, so words of one letter do not count. */
static void
remember_words(struct sym_swift_parser *p, struct fz_span text)
{
    size_t start = SIZE_MAX;
    /* One step past the text: its end also ends a word. */
    for (size_t i = 0; i <= text.len; i++) {
        char c = i < text.len ? (char)text.data[i] : '\0';
        if (start != SIZE_MAX && ends_word(c, (char)text.data[i - 1])) {
            /* Each word needs a letter, so later ones cannot be referred to. */
            if (i - start >= 2 && p->n_words < SWIFT_WORDS_MAX)
                p->words[p->n_words++] = fz_span_make(text.data + start, i - start);
            start = SIZE_MAX;
        }
        if (start == SIZE_MAX && starts_word(c))
            start = i;
    }
}

/* References to words; one in upper case is the last. */
static bool
read_words(struct sym_swift_parser *p, struct fz_buffer *name, bool *more_words)
{
    while (*more_words && (is_lower(sym_swift_peek(p)) || is_upper(sym_swift_peek(p)))) {
        char c = sym_swift_next(p);
        /* The case of the letter only says whether another reference follows. */
        size_t word = (size_t)(c - (is_lower(c) ? 'a' : 'A'));
        *more_words = is_lower(c);
        if (word >= p->n_words)
            return false;
        fz_buffer_append(name, p->words[word].data, p->words[word].len);
    }
    return true;
}

static bool
read_part(struct sym_swift_parser *p, struct fz_buffer *name, bool punycoded)
{
    int64_t len = sym_swift_natural(p);
    struct fz_span part;
    /* Swift's demangler refuses an empty part too. */
    if (len <= 0)
        return false;
    /* parts the length from text that begins with a digit or underscore */
    if (punycoded)
        sym_swift_next_if(p, '_');
    if (!fz_span_sub(p->text, p->pos, (uint64_t)len, &part))
        return false;
    p->pos += (size_t)len;
    if (punycoded)
        /* Only plain parts have words: encoded text is not what a later reference repeats. */
        part = sym_swift_punycode(part, p->arena);
    else
        remember_words(p, part);
    if (part.len > 0)
        fz_buffer_append(name, part.data, part.len);
    return part.len > 0;
}

static bool
read_identifier(struct sym_swift_parser *p, struct fz_buffer *name)
{
    bool punycoded = false, more_words = false;
    if (sym_swift_next_if(p, '0')) {
        punycoded = sym_swift_next_if(p, '0');
        /* One 0 means that the identifier begins with references to words, two that it is
         * Punycode. */
        more_words = !punycoded;
    }
    do {
        if (!read_words(p, name, &more_words))
            return false;
        /* a 0 ends an identifier whose last part is a reference to a word */
        if (sym_swift_next_if(p, '0'))
            break;
        if (!read_part(p, name, punycoded))
            return false;
    } while (more_words);
    return name->len > 0 && !name->failed;
}

struct sym_swift_node *
sym_swift_op_identifier(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    if (sym_swift_peek(p) < '0' || sym_swift_peek(p) > '9')
        return NULL;
    struct sym_swift_node *node = NULL;
    /* References can repeat words, so the name may be longer than its mangled form. */
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer name = fz_buffer_make(IDENTIFIER_MAX);
    if (read_identifier(p, &name)) {
        const char *text = fz_arena_text(p->arena, fz_buffer_span(&name));
        if (text)
            node = sym_swift_make_span(p, kind, fz_span_make(text, name.len));
    }
    /* Every identifier can be substituted later (addSubstitution() in Swift's Demangler.cpp). */
    return sym_swift_remember(p, node);
}

struct sym_swift_node *
sym_swift_operator_node(struct sym_swift_parser *p, struct fz_span letters, char fixity)
{
    /* a and, c commercial at, d divide, e equals, g greater, l less... ' ' is not an operator. */
    static const char characters[] = "& @/= >    <*!|+?%-~   ^ .";
    enum sym_swift_kind kind = fixity == 'i'   ? SWIFT_INFIX_OPERATOR
                               : fixity == 'p' ? SWIFT_PREFIX_OPERATOR
                               : fixity == 'P' ? SWIFT_POSTFIX_OPERATOR
                                               : SWIFT_NONE;
    char *text = fz_arena_text(p->arena, letters);
    if (kind == SWIFT_NONE || !text)
        return NULL;
    for (size_t i = 0; i < letters.len; i++) {
        if ((unsigned char)text[i] >= 0x80)
            continue; /* operators outside ASCII are not encoded */
        if (!is_lower(text[i]) || characters[text[i] - 'a'] == ' ')
            return NULL;
        text[i] = characters[text[i] - 'a'];
    }
    return sym_swift_make_span(p, kind, fz_span_make(text, letters.len));
}

struct sym_swift_node *
sym_swift_op_operator_name(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    (void)kind;
    /* The letters are an ordinary identifier until "o" and the fixity follow. */
    struct sym_swift_node *name = sym_swift_pop(p, SWIFT_IDENTIFIER);
    return name ? sym_swift_operator_node(p, name->text, sym_swift_next(p)) : NULL;
}

static struct sym_swift_node *
private_name(struct sym_swift_parser *p, bool named)
{
    /* The discriminator of the file is mangled after the name, so it is popped first. */
    struct sym_swift_node *file = sym_swift_pop(p, SWIFT_IDENTIFIER);
    if (!file)
        return NULL;
    struct sym_swift_node *name = sym_swift_make_span(p, SWIFT_PRIVATE_NAME, file->text);
    return named ? sym_swift_add(p, name, sym_swift_pop_flag(p, SWIFT_F_DECL_NAME)) : name;
}

/* "LL" and "Ll": private to a file; "La" to "LJ": derived from the declaration of that name;
 * "L<index>": one of several declarations with that name in a function. */
struct sym_swift_node *
sym_swift_op_local_name(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    if (sym_swift_next_if(p, 'L'))
        return private_name(p, true);
    if (sym_swift_next_if(p, 'l'))
        return private_name(p, false);
    char c = sym_swift_peek(p);
    if ((c >= 'a' && c <= 'j') || (c >= 'A' && c <= 'J')) {
        struct sym_swift_node *related =
            sym_swift_make_span(p, SWIFT_RELATED_NAME, fz_span_make(p->text.data + p->pos, 1));
        p->pos++;
        return sym_swift_add(p, related, sym_swift_pop_any(p));
    }
    int64_t index = sym_swift_index(p);
    struct sym_swift_node *local = index < 0 ? NULL : sym_swift_make_index(p, kind, index);
    return sym_swift_add(p, local, sym_swift_pop_flag(p, SWIFT_F_DECL_NAME));
}

struct sym_swift_node *
sym_swift_op_suffix(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    /* The table has consumed the dot, which belongs to the suffix. */
    struct fz_span rest = fz_span_make(p->text.data + p->pos - 1, p->text.len - p->pos + 1);
    p->pos = p->text.len;
    return sym_swift_make_span(p, kind, rest);
}
