/*
 * The scanner is one loop over the document with a bit per open bracket; it never recurses.
 *
 * Nothing is copied while the text is fine: bytes are appended to the output in one run up to the
 * next place that needs repair. Strings and white space are read eight bytes at a time, and objects of an array that
 * have the form of the one before are mostly compared with it (rows.h).
 *
 *   in:   {"a":18446744073709551615,"b":"\ud800x"}
 *   out:  {"a":"18446744073709551615","b":"\ufffdx"}
 */
#include "base/json/scan.h"

#include "base/json/number.h"
#include "base/json/rows.h"
#include "base/text.h"

enum { ESCAPE_LEN = 6 /* \uXXXX */, INT_SHORT = 18 };

enum expect { VALUE, ITEM_OR_END, KEY_OR_END, KEY, COLON, AFTER_VALUE, NOTHING };

struct scan {
    const uint8_t *data;
    size_t len;
    size_t pos;
    size_t copied; /* input before this byte is in the output */
    size_t depth;
    uint64_t is_object[JSON_SCAN_DEPTH_MAX / 64];
    struct fz_buffer *out; /* NULL: only validate */
    size_t out_left;
    size_t depth_max;
    struct json_scan_notes notes;
    size_t item_at,
        item_depth;        /* the last object in an array, and how deep that array is; 0 = none */
    uint64_t item_repairs; /* so many there were before it */
    struct json_scan_lists *lists;      /* NULL: not wanted */
    size_t list_at, list_depth, list_n; /* the innermost array, if it holds none; 0 = it does */
    struct fz_error *err;
};

static enum fz_code
bad(struct scan *s, size_t at, const char *what)
{
    return fz_fail_at(s->err, FZ_E_MALFORMED, at, "json: %s at byte %zu", what, at);
}

/* Append `len` bytes to the output; the caller's limit is checked here and nowhere else. */
static enum fz_code
put(struct scan *s, const void *bytes, size_t len)
{
    if (len > s->out_left)
        return fz_fail_at(s->err, FZ_E_LIMIT, s->pos, "json: larger than its limit at byte %zu",
                          s->pos);
    s->out_left -= len;
    if (!s->out)
        return FZ_OK;
    fz_buffer_append(s->out, bytes, len);
    return s->out->failed ? fz_buffer_done(s->out, s->err) : FZ_OK;
}

static uint64_t
n_repairs(const struct scan *s)
{
    return s->notes.n_big_numbers + s->notes.n_bad_utf8 + s->notes.n_bad_escapes;
}

/* Copy the input up to `end`, then `text` in place of the input's bytes up to `resume`. */
static enum fz_code
repair(struct scan *s, uint64_t *count, size_t end, const char *text, size_t text_len,
       size_t resume)
{
    /* Its place goes into the note of the report. */
    if (n_repairs(s) == 0)
        s->notes.first_offset = end;
    (*count)++;
    enum fz_code code = put(s, s->data + s->copied, end - s->copied);
    if (code == FZ_OK)
        code = put(s, text, text_len);
    s->copied = resume;
    return code;
}

static void
skip_space(struct scan *s)
{
    s->pos = json_space_end(fz_span_make(s->data, s->len), s->pos);
}

/* The code unit of the \uXXXX escape at `pos`, -1 without one. */
static int
escape_unit(const struct scan *s, size_t pos)
{
    if (s->len - pos < ESCAPE_LEN || s->data[pos] != '\\' || s->data[pos + 1] != 'u')
        return -1;
    unsigned unit = 0;
    for (size_t i = 2; i < ESCAPE_LEN; i++) {
        int digit = fz_text_hex_digit((char)s->data[pos + i]);
        if (digit < 0)
            return -1;
        unit = unit << 4 | (unsigned)digit;
    }
    return (int)unit;
}

static bool
is_surrogate(int unit, int first)
{
    return unit >= first && unit < first + 0x400;
}

/* One escape at s->pos, which moves past it. */
static enum fz_code
scan_escape(struct scan *s)
{
    size_t at = s->pos;
    if (s->len - at < 2)
        return bad(s, s->len, "ends inside a string");
    uint8_t c = s->data[at + 1];
    if (c == '"' || c == '\\' || c == '/' || c == 'b' || c == 'f' || c == 'n' || c == 'r' ||
        c == 't') {
        s->pos += 2;
        return FZ_OK;
    }
    /* \u is the only escape left. */
    int unit = escape_unit(s, at);
    if (unit < 0)
        return bad(s, at, "bad escape");
    s->pos += ESCAPE_LEN;
    /* A pair of surrogates is one character above U+FFFF (RFC 8259, 7). */
    if (is_surrogate(unit, 0xd800) && is_surrogate(escape_unit(s, s->pos), 0xdc00)) {
        s->pos += ESCAPE_LEN;
        return FZ_OK;
    }
    /* jansson refuses lone surrogates, and NUL unless it is asked to allow it. */
    if (unit != 0 && !is_surrogate(unit, 0xd800) && !is_surrogate(unit, 0xdc00))
        return FZ_OK;
    return repair(s, &s->notes.n_bad_escapes, at, "\\ufffd", ESCAPE_LEN, s->pos);
}

/* The string whose opening quote is at s->pos. */
static enum fz_code
scan_string(struct scan *s)
{
    s->pos++;
    for (;;) {
        s->pos = json_plain_end(fz_span_make(s->data, s->len), s->pos);
        if (s->pos == s->len)
            return bad(s, s->pos, "ends inside a string");
        enum fz_code code = FZ_OK;
        uint8_t c = s->data[s->pos];
        if (c == '"') {
            s->pos++;
            return FZ_OK;
        } else if (c == '\\') {
            code = scan_escape(s);
        } else if (c < 0x20) {
            return bad(s, s->pos, "control character in a string");
        } else {
            /* One bad byte is replaced, not the rest of the sequence: the next byte may be good. */
            size_t len = fz_text_utf8_len(fz_span_make(s->data + s->pos, s->len - s->pos));
            if (len == 0)
                code = repair(s, &s->notes.n_bad_utf8, s->pos, "\xef\xbf\xbd", 3, s->pos + 1);
            s->pos += len ? len : 1;
        }
        if (code != FZ_OK)
            return code;
    }
}

static size_t
digits_end(const struct scan *s, size_t pos)
{
    while (pos < s->len && s->data[pos] >= '0' && s->data[pos] <= '9')
        pos++;
    return pos;
}

static enum fz_code
scan_number(struct scan *s)
{
    size_t start = s->pos, pos = start;
    bool is_int = true;
    if (s->data[pos] == '-')
        pos++;
    size_t digits = pos;
    pos = digits_end(s, pos);
    /* JSON has no leading zeros (RFC 8259, 6). */
    if (pos == digits || (s->data[digits] == '0' && pos > digits + 1))
        return bad(s, pos == digits ? pos : digits + 1, "bad number");
    if (pos < s->len && s->data[pos] == '.') {
        is_int = false;
        size_t fraction = pos + 1;
        pos = digits_end(s, fraction);
        if (pos == fraction)
            return bad(s, pos, "bad number");
    }
    if (pos < s->len && (s->data[pos] == 'e' || s->data[pos] == 'E')) {
        is_int = false;
        pos++;
        if (pos < s->len && (s->data[pos] == '+' || s->data[pos] == '-'))
            pos++;
        size_t exponent = pos;
        pos = digits_end(s, exponent);
        if (pos == exponent)
            return bad(s, pos, "bad number");
    }
    s->pos = pos;
    /* So few digits always fit. */
    if ((is_int && pos - start <= INT_SHORT) ||
        json_number_fits(fz_span_make(s->data + start, pos - start), is_int))
        return FZ_OK;
    /* Its own bytes stay in the input's run; only the quotes are put around them. */
    enum fz_code code = repair(s, &s->notes.n_big_numbers, start, "\"", 1, start);
    if (code == FZ_OK)
        code = put(s, s->data + start, pos - start);
    s->copied = pos;
    return code == FZ_OK ? put(s, "\"", 1) : code;
}

static enum fz_code
scan_literal(struct scan *s)
{
    static const char *const literals[] = {"true", "false", "null"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(literals); i++) {
        size_t len = strlen(literals[i]);
        if (s->len - s->pos >= len && memcmp(s->data + s->pos, literals[i], len) == 0) {
            s->pos += len;
            return FZ_OK;
        }
    }
    return bad(s, s->pos, "expected a value");
}

static bool
in_object(const struct scan *s)
{
    return s->depth && (s->is_object[(s->depth - 1) / 64] >> ((s->depth - 1) % 64) & 1);
}

static enum fz_code
open_bracket(struct scan *s, bool is_object)
{
    if (s->depth >= s->depth_max)
        return fz_fail_at(s->err, FZ_E_LIMIT, s->pos, "json: nested deeper than %zu at byte %zu",
                          s->depth_max, s->pos);
    /* A bit per level instead of a stack: 2,048 levels take 256 bytes. */
    uint64_t bit = (uint64_t)1 << (s->depth % 64);
    uint64_t *word = &s->is_object[s->depth / 64];
    *word = is_object ? *word | bit : *word & ~bit;
    s->depth++;
    if (is_object) {
        s->notes.n_objects++;
    } else {
        s->notes.n_arrays++;
        s->list_at = s->pos;
        s->list_depth = s->depth;
        s->list_n = 0;
    }
    s->pos++;
    return FZ_OK;
}

static enum expect
close_bracket(struct scan *s)
{
    s->pos++;
    if (s->depth == s->list_depth) {
        s->list_depth = 0;
        if (s->lists && s->lists->n < JSON_SCAN_LISTS)
            s->lists->list[s->lists->n++] = (struct json_scan_list){s->list_at, s->pos, s->list_n};
    }
    s->depth--;
    return s->depth ? AFTER_VALUE : NOTHING;
}

static enum fz_code
scan_value(struct scan *s, enum expect *next)
{
    *next = s->depth ? AFTER_VALUE : NOTHING;
    s->notes.n_values++;
    s->list_n += s->depth == s->list_depth;
    uint8_t c = s->data[s->pos];
    switch (c) {
    case '"':
        return scan_string(s);
    case '{':
        *next = KEY_OR_END;
        if (!in_object(s)) {
            s->item_at = s->pos;
            s->item_depth = s->depth;
            s->item_repairs = n_repairs(s);
        }
        return open_bracket(s, true);
    case '[':
        *next = ITEM_OR_END;
        return open_bracket(s, false);
    default:
        return c == '-' || (c >= '0' && c <= '9') ? scan_number(s) : scan_literal(s);
    }
}

static enum fz_code
unexpected(struct scan *s, enum expect expect)
{
    static const char *const texts[] = {[VALUE] = "a value",
                                        [ITEM_OR_END] = "a value or ']'",
                                        [KEY_OR_END] = "a key or '}'",
                                        [KEY] = "a key",
                                        [COLON] = "':'",
                                        [AFTER_VALUE] = "',' or ']'"};
    const char *ended = s->pos == s->len ? "ends where" : "expected";
    const char *wanted = expect == AFTER_VALUE && in_object(s) ? "',' or '}'" : texts[expect];
    return fz_fail_at(s->err, FZ_E_MALFORMED, s->pos, "json: %s %s%s at byte %zu", ended, wanted,
                      s->pos == s->len ? " is expected" : "", s->pos);
}

/* A key and, since nothing else can follow it, its colon and its value. */
static enum fz_code
scan_member(struct scan *s, enum expect *expect)
{
    s->notes.n_keys++;
    enum fz_code code = scan_string(s);
    if (code != FZ_OK)
        return code;
    *expect = COLON;
    skip_space(s);
    if (s->pos == s->len || s->data[s->pos] != ':')
        return unexpected(s, *expect);
    s->pos++;
    *expect = VALUE;
    skip_space(s);
    return s->pos == s->len ? unexpected(s, *expect) : scan_value(s, expect);
}

/* After an object of an array and the comma: those that have its form. */
static enum expect
pass_items(struct scan *s)
{
    bool is_like = s->depth == s->item_depth && n_repairs(s) == s->item_repairs;
    /* Each is looked at once: what follows it may not be like it. */
    s->item_depth = 0;
    if (!is_like)
        return VALUE;
    struct json_rows_passed passed =
        json_rows_pass(fz_span_make(s->data, s->len), s->item_at, s->pos);
    s->pos = passed.end;
    s->notes.n_objects += passed.n;
    s->list_n += passed.n;
    s->notes.n_keys += passed.n_keys;
    s->notes.n_values += passed.n + passed.n_keys;
    return passed.has_comma ? VALUE : AFTER_VALUE;
}

/* One token, or one member; *expect is what may come here, and becomes what may come next. */
static enum fz_code
scan_token(struct scan *s, enum expect *expect)
{
    uint8_t c = s->data[s->pos];
    switch (*expect) {
    case AFTER_VALUE:
        if (c == ',') {
            s->pos++;
            *expect = in_object(s) ? KEY : pass_items(s);
            return FZ_OK;
        }
        if (c != (in_object(s) ? '}' : ']'))
            return unexpected(s, *expect);
        *expect = close_bracket(s);
        return FZ_OK;
    case KEY_OR_END:
        if (c == '}') {
            *expect = close_bracket(s);
            return FZ_OK;
        }
        /* fallthrough */
    case KEY:
        return c == '"' ? scan_member(s, expect) : unexpected(s, *expect);
    case ITEM_OR_END:
        if (c == ']') {
            *expect = close_bracket(s);
            return FZ_OK;
        }
        return scan_value(s, expect);
    case COLON:
    case VALUE:
    case NOTHING:
        break;
    }
    return scan_value(s, expect);
}

static bool
has_mark(const struct scan *s)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    return s->len >= 3 && memcmp(s->data, byte_order_mark, 3) == 0;
}

static enum fz_code
scan_document(struct scan *s)
{
    if (has_mark(s))
        s->pos = s->copied = 3;
    enum expect expect = VALUE;
    while (expect != NOTHING) {
        skip_space(s);
        if (s->pos == s->len)
            return unexpected(s, expect);
        enum fz_code code = scan_token(s, &expect);
        if (code != FZ_OK)
            return code;
    }
    return put(s, s->data + s->copied, s->pos - s->copied);
}

static enum fz_code
scan_first(struct fz_span in, const struct json_scan_limits *limits, struct fz_buffer *out,
           struct json_scan_notes *notes, struct json_scan_lists *lists, size_t *ret_used,
           struct fz_error *err)
{
    struct scan s = {
        .data = in.data,
        .len = in.len,
        .out = out,
        .out_left = limits->output_bytes,
        .depth_max = limits->depth < JSON_SCAN_DEPTH_MAX ? limits->depth : JSON_SCAN_DEPTH_MAX,
        .lists = lists,
        .err = err,
    };
    size_t out_start = out ? out->len : 0;
    enum fz_code code = scan_document(&s);
    if (code != FZ_OK) {
        /* The caller's buffer must not keep half a document. */
        if (out && out->data) {
            out->len = out_start;
            out->data[out_start] = '\0';
        }
        return code;
    }
    if (notes)
        *notes = s.notes;
    /* Their places are those of the input. */
    if (lists && (n_repairs(&s) > 0 || has_mark(&s)))
        lists->n = 0;
    *ret_used = s.pos;
    return FZ_OK;
}

enum fz_code
json_scan_first(struct fz_span in, const struct json_scan_limits *limits, struct fz_buffer *out,
                struct json_scan_notes *notes, size_t *ret_used, struct fz_error *err)
{
    return scan_first(in, limits, out, notes, NULL, ret_used, err);
}

enum fz_code
json_scan_with_lists(struct fz_span in, const struct json_scan_limits *limits,
                     struct fz_buffer *out, struct json_scan_notes *notes,
                     struct json_scan_lists *lists, struct fz_error *err)
{
    size_t used, out_start = out ? out->len : 0;
    if (lists)
        lists->n = 0;
    enum fz_code code = scan_first(in, limits, out, notes, lists, &used, err);
    if (code != FZ_OK)
        return code;
    /* A scan of its own, only to skip white space and to name the place. */
    struct scan rest = {.data = in.data, .len = in.len, .pos = used, .err = err};
    skip_space(&rest);
    if (rest.pos == rest.len)
        return FZ_OK;
    if (out) {
        out->len = out_start;
        out->data[out_start] = '\0';
    }
    return bad(&rest, rest.pos, "unexpected text after the value");
}
