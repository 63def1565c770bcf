/*
 * One loop over the tokens with a stack of what is open. Commas, colons and white space say nothing any more:
 *
 *   {"a": [1, "x\n"]}     {  key a  [  1  x\n  ]  }
 *
 * Texts without escapes are copied by jansson from where they are; others are decoded into a buffer before.
 */
#include "base/json/build.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/json/rows.h"
#include "base/json/scan.h"
#include "base/text.h"

struct build {
    char *text;
    size_t len, pos;
    json_t *root;
    json_t *open[JSON_SCAN_DEPTH_MAX]; /* borrowed: each is in its parent */
    size_t depth;
    char *key; /* of the member that comes; NULL: none has come yet */
    size_t key_len;
    const char *const *leave;            /* rows.h; NULL: nothing is left out */
    const struct json_scan_lists *lists; /* NULL: not known */
    size_t n_lists;                      /* of them, so many were passed */
    size_t
        n_on_path; /* so many names of it lead to the innermost open containers; one less than `depth`, or nothing does */
    struct fz_buffer decoded, decoded_key;
    bool failed;
};

/* ---- texts ----------------------------------------------------------------------------------- */

static unsigned
hex4(const char *digits)
{
    unsigned unit = 0;
    for (size_t i = 0; i < 4; i++)
        unit = unit << 4 | (unsigned)fz_text_hex_digit(digits[i]);
    return unit;
}

static size_t
put_utf8(char *out, unsigned c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* No escape is shorter than what it stands for. */
bool
json_decode(const char *in, size_t len, struct fz_buffer *out)
{
    static const char names[] = "bfnrt", values[] = "\b\f\n\r\t";
    fz_buffer_clear(out);
    char *start = fz_buffer_room(out, len), *to = start;
    for (size_t i = 0; start && i < len;) {
        if (in[i] != '\\') {
            *to++ = in[i++];
            continue;
        }
        char c = in[i + 1];
        const char *name = strchr(names, c);
        i += 2;
        if (c != 'u') {
            *to++ = name ? values[name - names] : c;
            continue;
        }
        unsigned unit = hex4(in + i);
        i += 4;
        /* The scanner has left pairs only. */
        if (unit >= 0xd800 && unit < 0xdc00) {
            unit = 0x10000 + ((unit - 0xd800) << 10) + (hex4(in + i + 2) - 0xdc00);
            i += 6;
        }
        to += put_utf8(to, unit);
    }
    if (start)
        fz_buffer_grow_to(out, to);
    return start != NULL;
}

/* The string at `pos`, which moves past it: its bytes without quotes. */
static struct fz_span
take_string(struct build *b, bool *ret_escaped)
{
    const struct fz_span text = fz_span_make(b->text, b->len);
    size_t start = b->pos + 1, end = json_find_special(text, start);
    *ret_escaped = false;
    while (end < b->len && b->text[end] == '\\') {
        *ret_escaped = true;
        end = b->len - end > 2 ? json_find_special(text, end + 2) : b->len;
    }
    b->pos = end + 1;
    return fz_span_make(b->text + start, end - start);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Put `value` (taken) where it belongs. */
static void
attach(struct build *b, json_t *value)
{
    json_t *parent = b->depth ? b->open[b->depth - 1] : NULL;
    if (!value) {
        b->failed = true;
    } else if (!parent) {
        b->root = value;
    } else if (json_is_array(parent)) {
        b->failed = json_array_append_new(parent, value) != 0;
    } else {
        b->failed = json_object_set_new_nocheck(parent, b->key, value) != 0;
        b->key = NULL;
    }
}

static json_t *
make_number(struct build *b)
{
    const char *start = b->text + b->pos;
    bool is_negative = *start == '-', is_int = true;
    uint64_t value = 0;
    size_t end = b->pos + is_negative;
    for (; end < b->len; end++) {
        char c = b->text[end];
        if (c >= '0' && c <= '9')
            value = value * 10 + (uint64_t)(c - '0');
        else if (c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-')
            is_int = false;
        else
            break;
    }
    b->pos = end;
    /* The scanner has made texts of those that are too large. */
    if (!is_int)
        return json_real(strtod(start, NULL));
    return json_integer((json_int_t)(is_negative ? 0 - value : value));
}

static void
take_text(struct build *b)
{
    bool is_escaped;
    struct fz_span in = take_string(b, &is_escaped);
    bool is_key = b->depth && !b->key && json_is_object(b->open[b->depth - 1]);
    char *text = b->text + ((const char *)in.data - b->text);
    size_t len = in.len;
    if (is_escaped) {
        struct fz_buffer *out = is_key ? &b->decoded_key : &b->decoded;
        b->failed = !json_decode(text, in.len, out);
        text = out->data;
        len = out->len;
    }
    if (b->failed)
        return;
    if (!is_key) {
        attach(b, json_stringn_nocheck(text, len));
        return;
    }
    /* jansson wants a NUL after it, and the quote is not needed any more; it comes back later. */
    text[len] = '\0';
    b->key = text;
    b->key_len = len;
}

/* The name in the path that leads to what opens here; NULL: none does. */
static const char *
next_on_path(const struct build *b)
{
    if (!b->leave || b->depth == 0 || b->n_on_path != b->depth - 1 || !b->leave[b->n_on_path])
        return NULL;
    const char *wanted = b->leave[b->n_on_path];
    bool is_array = json_is_array(b->open[b->depth - 1]);
    return is_array ? (*wanted ? NULL : wanted) : (strcmp(b->key, wanted) == 0 ? wanted : NULL);
}

static void
leave_array(struct build *b)
{
    const struct json_scan_list *list = NULL;
    struct fz_span text = fz_span_make(b->text + b->pos, b->len - b->pos);
    while (b->lists && b->n_lists < b->lists->n && b->lists->list[b->n_lists].at < b->pos)
        b->n_lists++;
    if (b->lists && b->n_lists < b->lists->n && b->lists->list[b->n_lists].at == b->pos)
        list = &b->lists->list[b->n_lists];
    size_t len = list ? list->end - list->at : 0;
    attach(b, json_rows_leave(text, list ? list->n_items : 0, &len));
    b->pos += len;
}

static void
open_container(struct build *b, bool is_object)
{
    const char *name = next_on_path(b);
    if (name && !b->leave[b->n_on_path + 1] && !is_object) {
        leave_array(b);
        return;
    }
    b->n_on_path += name != NULL;
    json_t *made = is_object ? json_object() : json_array();
    attach(b, made);
    /* The scanner's limit is not above this one. */
    if (!b->failed && b->depth < FZ_ARRAY_LEN(b->open))
        b->open[b->depth++] = made;
    b->pos++;
}

static void
take_token(struct build *b)
{
    char c = b->text[b->pos];
    char *key = b->key;
    switch (c) {
    case '"':
        take_text(b);
        break;
    case '{':
    case '[':
        open_container(b, c == '{');
        break;
    case '}':
    case ']':
        b->depth--;
        if (b->n_on_path && b->n_on_path >= b->depth)
            b->n_on_path = b->depth ? b->depth - 1 : 0;
        b->pos++;
        break;
    case 't':
        attach(b, json_true());
        b->pos += strlen("true");
        break;
    case 'f':
        attach(b, json_false());
        b->pos += strlen("false");
        break;
    case 'n':
        attach(b, json_null());
        b->pos += strlen("null");
        break;
    default:
        if (c == '-' || (c >= '0' && c <= '9'))
            attach(b, make_number(b));
        else
            b->pos++; /* white space, a comma, a colon */
    }
    /* Its value has come. */
    if (key && !b->key && key != b->decoded_key.data)
        key[b->key_len] = '"';
}

json_t *
json_build(char *text, size_t len, const char *const *leave, const struct json_scan_lists *lists)
{
    struct build b = {.text = text, .len = len, .leave = leave, .lists = lists};
    while (b.pos < b.len && !b.failed)
        take_token(&b);
    fz_buffer_deinit(&b.decoded);
    fz_buffer_deinit(&b.decoded_key);
    if (!b.failed)
        return b.root;
    json_decref(b.root);
    return NULL;
}
