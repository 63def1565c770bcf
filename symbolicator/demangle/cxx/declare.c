/*
 * The declaration of a C++ function, from its readable text.
 *
 *   void shop::Cart<int>::add<char>(int)::'lambda'(int)::operator()(int) const
 *        shop::Cart::add                                                    removed: lambda in
 *
 * The text is read once, from left to right, and the name is built of its parts between "::".
 * Brackets are skipped as a whole: template arguments, ABI tags, parameters. A blank, "*" or "&"
 * outside of brackets ends a result type, so the name starts anew after it. After parameters there
 * can be qualifiers, and then either the end, or "::" and what the function declares. A lambda and
 * its operator() are no parts of the name. In the text of a function that returns a pointer to a
 * function, the name is within brackets: "void (*shop::f(int))(char)".
 */
#include "symbolicator/demangle/declare.h"

#include "base/attr.h"

struct reader {
    struct fz_span text;
    size_t at;
    struct sym_declared *to;
    size_t part;     /* where the current part begins in the name */
    size_t n_open;   /* brackets around the name */
    bool has_lambda; /* the part before this one is a lambda, or its operator */
};

static bool
is_word(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c >= 0x80;
}

static bool
begins(struct fz_span text, size_t at, const char *with)
{
    return fz_span_begins(fz_span_from(text, at), with);
}

static uint8_t
byte_at(struct fz_span text, size_t at)
{
    return at < text.len ? text.data[at] : 0;
}

/* The position after the bracket that closes the one at `at`; SIZE_MAX if none does. Other brackets
 * in it are balanced, or like those of "operator<" not meant as brackets. */
static size_t
after_bracket(struct fz_span text, size_t at, char open, char close)
{
    size_t depth = 0;
    for (; at < text.len; at++) {
        depth += text.data[at] == (uint8_t)open;
        if (text.data[at] == (uint8_t)close && --depth == 0)
            return at + 1;
    }
    return SIZE_MAX;
}

/* The length of the operator at `at`, after the word; 0 if there is none of symbols. What follows
 * it decides: "operator<<int>(" is "<" with an argument, "operator<<(" is a shift. */
static size_t
symbol_len(struct fz_span text, size_t at)
{
    static const char *const symbols[] = {
        "->*", "<=>", "<<=", ">>=", "()", "[]", "->", "++", "--", "<<", ">>", "<=", ">=",
        "==",  "!=",  "&&",  "||",  "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<",
        ">",   "+",   "-",   "*",   "/",  "%",  "^",  "&",  "|",  "~",  "!",  "=",  ",",
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(symbols); i++) {
        size_t len = strlen(symbols[i]);
        if (!begins(text, at, symbols[i]))
            continue;
        uint8_t after = byte_at(text, at + len);
        if (after == 0 || after == '(' || after == '<' || after == ' ' || after == '[' ||
            after == ')' || after == ',' || after == '>' || after == '.')
            return len;
    }
    return 0;
}

/* "operator" as a word of its own at `at`. */
static bool
is_operator(struct fz_span text, size_t at)
{
    static const size_t len = sizeof("operator") - 1;
    return text.data[at] == 'o' && begins(text, at, "operator") &&
           !is_word(byte_at(text, at + len)) && (at == 0 || !is_word(text.data[at - 1]));
}

/* The position after the template arguments that begin at `at`. */
static size_t
after_arguments(struct fz_span text, size_t at)
{
    size_t depth = 0;
    while (at < text.len) {
        uint8_t c = text.data[at];
        if (c == '(') {
            /* Comparisons among the arguments are in brackets. */
            at = after_bracket(text, at, '(', ')');
            if (at == SIZE_MAX)
                return SIZE_MAX;
            continue;
        }
        if (is_operator(text, at)) {
            at += sizeof("operator") - 1;
            at += symbol_len(text, at);
            continue;
        }
        if (c == '<')
            depth++;
        if (c == '>' && text.data[at - 1] != '-' && --depth == 0)
            return at + 1;
        at++;
    }
    return SIZE_MAX;
}

static struct fz_span
part_of(const struct reader *r)
{
    return fz_span_from(fz_buffer_span(&r->to->name), r->part);
}

/* What came before was a result type. */
static void
start_anew(struct reader *r)
{
    sym_declared_clear(r->to);
    r->part = 0;
    r->has_lambda = false;
}

static void
cut_part(struct reader *r)
{
    /* With the "::" before it. */
    sym_declared_cut(r->to, r->part >= 2 ? r->part - 2 : 0);
}

/* End a part: those that say nothing about the declaration are cut. */
static void
end_part(struct reader *r)
{
    static const char *const inline_namespaces[] = {"std::__1", "std::__cxx11", "std::__ndk1"};
    struct fz_span part = part_of(r), name = fz_buffer_span(&r->to->name);
    bool is_call = fz_span_is(part, "operator()") || fz_span_is(part, "__invoke");
    for (size_t i = 0; i < FZ_ARRAY_LEN(inline_namespaces) && part.len > 0 && part.data[0] == '_';
         i++) {
        if (fz_span_is(name, inline_namespaces[i])) {
            cut_part(r);
            return;
        }
    }
    if (part.len == 0 || (r->has_lambda && is_call))
        cut_part(r);
    /* The part of the lambda itself is empty. */
    r->has_lambda = r->has_lambda && part.len == 0;
}

static void
end_lambda(struct reader *r, const char *what)
{
    sym_declared_note_before(r->to, fz_span_cstr(what));
    cut_part(r);
    r->has_lambda = true;
}

/* "'lambda0'(int)", "{lambda(int)#1}", "$_0", "(anonymous class)", "{unnamed type#2}". False if a
 * bracket is not closed. */
static bool
read_unnamed(struct reader *r)
{
    struct fz_span rest = fz_span_from(r->text, r->at);
    size_t end = SIZE_MAX;
    if (fz_span_begins(rest, "$_")) {
        end = r->at;
        while (is_word(byte_at(r->text, end)))
            end++;
    } else if (rest.data[0] == '\'') {
        const uint8_t *quote = memchr(rest.data + 1, '\'', rest.len - 1);
        end = quote ? r->at + (size_t)(quote - rest.data) + 1 : SIZE_MAX;
    } else if (rest.data[0] == '{') {
        end = after_bracket(r->text, r->at, '{', '}');
    } else if (rest.data[0] == '(') {
        end = after_bracket(r->text, r->at, '(', ')');
    }
    if (end == SIZE_MAX)
        return false;
    struct fz_span what = fz_span_between(r->text, r->at, end);
    bool is_lambda = fz_span_begins(what, "$_") || fz_span_begins(what, "'$_") ||
                     fz_span_begins(what, "'lambda") || fz_span_begins(what, "{lambda") ||
                     fz_span_is(what, "(anonymous class)") || fz_span_begins(what, "(lambda at ");
    bool is_block = fz_span_begins(what, "'block-literal");
    bool is_default = fz_span_begins(what, "{default arg");
    r->at = end;
    if (is_lambda && byte_at(r->text, end) == '<')
        r->at = after_arguments(r->text, end);
    if (r->at != SIZE_MAX && (is_lambda || is_block) && byte_at(r->text, r->at) == '(')
        r->at = after_bracket(r->text, r->at, '(', ')');
    if (r->at == SIZE_MAX)
        return false;
    if (is_lambda || is_block || is_default)
        end_lambda(r, is_lambda ? "lambda in" : is_block ? "block in" : "default argument of");
    else if (fz_span_is(what, "(anonymous namespace)"))
        fz_buffer_append(&r->to->name, what.data, what.len);
    else
        fz_buffer_text(&r->to->name, "(unnamed)");
    return true;
}

/* Append the text from `from` to `to` without template arguments. */
static bool
put_type(struct reader *r, size_t from, size_t to)
{
    while (from < to) {
        if (r->text.data[from] == '<') {
            from = after_arguments(r->text, from);
            if (from == SIZE_MAX)
                return false;
            continue;
        }
        fz_buffer_char(&r->to->name, (char)r->text.data[from++]);
    }
    return true;
}

/* The type of a conversion: up to the "()" that no further bracket follows. */
static bool
read_conversion(struct reader *r)
{
    size_t start = r->at, at = start;
    while (at < r->text.len) {
        uint8_t c = r->text.data[at];
        if (c == '(' && byte_at(r->text, at + 1) == ')' && byte_at(r->text, at + 2) != '(')
            break;
        size_t next = c == '('   ? after_bracket(r->text, at, '(', ')')
                      : c == '<' ? after_arguments(r->text, at)
                                 : at + 1;
        if (next == SIZE_MAX)
            return false;
        at = next;
    }
    r->at = at;
    return put_type(r, start, at);
}

static bool
read_operator(struct reader *r)
{
    static const char *const words[] = {" new[]", " new", " delete[]", " delete", " co_await"};
    size_t start = r->at;
    r->at += sizeof("operator") - 1;
    size_t len = symbol_len(r->text, r->at);
    for (size_t i = 0; i < FZ_ARRAY_LEN(words) && len == 0; i++) {
        size_t word_len = strlen(words[i]);
        if (begins(r->text, r->at, words[i]) && !is_word(byte_at(r->text, r->at + word_len)))
            len = word_len;
    }
    if (len == 0 && begins(r->text, r->at, "\"\"")) {
        /* A literal: operator"" _km, with or without the blank. */
        fz_buffer_text(&r->to->name, "operator\"\"");
        r->at += 2;
        r->at += byte_at(r->text, r->at) == ' ';
        while (is_word(byte_at(r->text, r->at)))
            fz_buffer_char(&r->to->name, (char)r->text.data[r->at++]);
        return true;
    }
    fz_buffer_append(&r->to->name, r->text.data + start, r->at - start + len);
    r->at += len;
    if (len == 0)
        return byte_at(r->text, r->at) == ' ' && read_conversion(r);
    if (begins(r->text, r->at, " <")) /* "operator< <int>" */
        r->at++;
    return true;
}

/* After parameters: true if a part follows; otherwise the text ends there, except after a type
 * that only looked like a function. */
static bool
goes_on_after_parameters(struct reader *r, bool *ret_was_type)
{
    static const char *const qualifiers[] = {" const",    " volatile", " restrict",
                                             " noexcept", " &&",       " &"};
    bool has_more = byte_at(r->text, r->at) == ' ';
    for (size_t i = 0; i < FZ_ARRAY_LEN(qualifiers) && has_more; i++) {
        if (begins(r->text, r->at, qualifiers[i])) {
            r->at += strlen(qualifiers[i]);
            i = SIZE_MAX; /* in any order */
        }
    }
    if (begins(r->text, r->at, "::"))
        return true;
    /* "f() (.cold)" of LLVM, "f() [clone .cold]" of GNU; " requires C<T>". */
    *ret_was_type = byte_at(r->text, r->at) == ' ' && !begins(r->text, r->at, " (.") &&
                    !begins(r->text, r->at, " requires ") && !begins(r->text, r->at, " [");
    return false;
}

enum step { GO_ON, END, MALFORMED };

static enum step
read_round(struct reader *r)
{
    struct fz_span part = part_of(r);
    bool was_type = false;
    uint8_t next = byte_at(r->text, r->at + 1);
    if ((next == 'a' && begins(r->text, r->at, "(anonymous ")) ||
        (next == 'l' && begins(r->text, r->at, "(lambda at ")) ||
        (next == 'u' && begins(r->text, r->at, "(unnamed")))
        return read_unnamed(r) ? GO_ON : MALFORMED;
    if (part.len == 0 && !r->has_lambda) {
        /* "void (*f(int))(char)": the name is inside. */
        r->n_open++;
        r->at++;
        return GO_ON;
    }
    r->at = after_bracket(r->text, r->at, '(', ')');
    if (r->at == SIZE_MAX)
        return MALFORMED;
    if (fz_span_is(part, "decltype") || fz_span_is(part, "typeof") ||
        fz_span_is(part, "__typeof__")) {
        sym_declared_cut(r->to, r->part);
        return GO_ON;
    }
    if (goes_on_after_parameters(r, &was_type))
        return GO_ON;
    if (!was_type)
        return END;
    start_anew(r);
    r->at++;
    return GO_ON;
}

static enum step
read_step(struct reader *r)
{
    uint8_t c = r->text.data[r->at];
    bool at_start = r->to->name.len == r->part;
    if (c == ':' && begins(r->text, r->at, "::")) {
        end_part(r);
        if (r->to->name.len > 0)
            fz_buffer_append(&r->to->name, "::", 2);
        r->part = r->to->name.len;
        r->at += 2;
        return GO_ON;
    }
    if (at_start && is_operator(r->text, r->at))
        return read_operator(r) ? GO_ON : MALFORMED;
    if (at_start && (c == '\'' || c == '{' || (c == '$' && begins(r->text, r->at, "$_"))))
        return read_unnamed(r) ? GO_ON : MALFORMED;
    if (is_word(c)) {
        size_t end = r->at + 1;
        while (end < r->text.len && is_word(r->text.data[end]))
            end++;
        fz_buffer_append(&r->to->name, r->text.data + r->at, end - r->at);
        r->at = end;
        return GO_ON;
    }
    if (c == '(')
        return read_round(r);
    if (c == '<' || c == '[') {
        r->at =
            c == '<' ? after_arguments(r->text, r->at) : after_bracket(r->text, r->at, '[', ']');
        return r->at == SIZE_MAX ? MALFORMED : GO_ON;
    }
    if (c == ')')
        return r->n_open > 0 ? END : MALFORMED;
    if (c == ' ' || c == '*' || c == '&') {
        /* The suffix of a variable: "Cart::count (.llvm.12)". */
        if (begins(r->text, r->at, " (.") || begins(r->text, r->at, " [clone "))
            return END;
        start_anew(r);
        r->at++;
        return GO_ON;
    }
    if (c != '~' && c != '@' && c != '.')
        return MALFORMED;
    fz_buffer_char(&r->to->name, (char)c);
    r->at++;
    return GO_ON;
}

/* "non-virtual thunk to f()". Of data ("vtable for Cart") there is no declaration. */
static void
read_prefixes(struct reader *r)
{
    static const struct {
        const char *prefix;
        bool is_real;
    } prefixes[] = {
        {"non-virtual thunk to ", true},
        {"virtual thunk to ", true},
        {"covariant return thunk to ", true},
        {"invocation function for block in ", true},
        {"thread-local wrapper routine for ", true},
        {"thread-local initialization routine for ", true},
        {"TLS wrapper function for ", true},
        {"TLS init function for ", true},
        {"vtable for ", false},
        {"VTT for ", false},
        {"construction vtable for ", false},
        {"typeinfo for ", false},
        {"typeinfo name for ", false},
        {"guard variable for ", false},
        {"reference temporary ", false},
        {"template parameter object for ", false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(prefixes); i++) {
        /* Nearly all names begin with other letters. */
        if (prefixes[i].prefix[0] != (char)byte_at(r->text, r->at) ||
            !begins(r->text, r->at, prefixes[i].prefix))
            continue;
        size_t len = strlen(prefixes[i].prefix);
        if (!prefixes[i].is_real) {
            r->to->is_real = false;
            return;
        }
        sym_declared_note_span(r->to, fz_span_make(prefixes[i].prefix, len - 1));
        r->at += len;
        i = SIZE_MAX; /* thunks of thunks */
    }
}

bool
sym_declare_cxx_text(struct fz_span text, struct sym_declared *to)
{
    struct reader r = {.text = text, .to = to};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer prefix = fz_buffer_make(0);
    to->language = SYM_CXX;
    read_prefixes(&r);
    if (!to->is_real) {
        fz_buffer_append(&to->name, text.data, text.len);
        return true;
    }
    /* A result type clears the words, but not those of the prefix. */
    fz_buffer_append(&prefix, to->removed.data, to->removed.len);
    fz_buffer_clear(&to->removed);
    enum step step = GO_ON;
    while (r.at < text.len && step == GO_ON && !to->name.failed)
        step = read_step(&r);
    if (step == MALFORMED || to->name.failed)
        return false;
    bool was_lambda = r.has_lambda;
    end_part(&r);
    if (to->name.len == 0 && (was_lambda || to->removed.len > 0))
        fz_buffer_text(&to->name, "lambda"); /* of an initial value; its number is not stable */
    if (prefix.len > 0)
        sym_declared_note_before(to, fz_buffer_span(&prefix));
    return to->name.len > 0;
}
