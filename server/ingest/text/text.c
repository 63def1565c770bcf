#include "server/ingest/text/text.h"

enum { KEY_MAX = 64, EXTRAS_MAX = 512, EXTRA_KEY_MAX = 127 };

bool
ingest_text_split_words(struct fz_span line, struct fz_span *ret_key, struct fz_span *ret_value)
{
    size_t colon = fz_text_find(fz_span_until(line, KEY_MAX + 1), ":");
    /* One letter before a colon is a drive or a register. */
    if (colon == SIZE_MAX || colon < 2)
        return false;
    struct fz_span after = fz_span_from(line, colon + 1);
    if (after.len && !fz_text_is_blank(after.data[0]))
        return false;
    for (size_t i = 0; i < colon; i++) {
        uint8_t c = line.data[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == ' ' || c == '/' || c == '-' || c == '(' || c == ')' || c == '&';
        if (!is_word)
            return false;
    }
    *ret_key = fz_text_trim(fz_span_until(line, colon));
    *ret_value = fz_text_trim(after);
    return true;
}

bool
ingest_text_split_key(struct fz_span line, struct fz_span *ret_key, struct fz_span *ret_value)
{
    return line.len && line.data[0] >= 'A' && line.data[0] <= 'Z' &&
           ingest_text_split_words(line, ret_key, ret_value);
}

struct ingest_text
ingest_text_start(struct ingest_builder *b)
{
    struct ingest_text c = {.b = b, .extra_numbers = json_object()};
    b->failed = b->failed || !c.extra_numbers;
    fz_buffer_init(&c.text, 0);
    return c;
}

void
ingest_text_end(struct ingest_text *c)
{
    json_decref(c->extra_numbers);
    fz_buffer_deinit(&c->text);
}

static struct ingest_text_extra *
extra_of(struct ingest_text *c, struct fz_span key)
{
    char name[EXTRA_KEY_MAX + 1];
    size_t len = key.len < EXTRA_KEY_MAX ? key.len : EXTRA_KEY_MAX;
    memcpy(name, key.data, len);
    name[len] = '\0';
    /* A hash table, since a text may have hundreds of keys, and each line looks for its own. */
    const json_t *number = json_object_get(c->extra_numbers, name);
    if (number)
        return &c->extras[json_integer_value(number)];
    if (c->n_extras == EXTRAS_MAX)
        return NULL;
    c->extras = ingest_grow(c->b, c->extras, c->n_extras, &c->room_extras, sizeof(*c->extras));
    const char *copy = ingest_text(c->b, fz_span_cstr(name));
    if (!c->extras || !copy ||
        json_object_set_new(c->extra_numbers, copy, json_integer((json_int_t)c->n_extras)) != 0) {
        c->b->failed = true;
        return NULL;
    }
    c->extras[c->n_extras] = (struct ingest_text_extra){.key = copy};
    return &c->extras[c->n_extras++];
}

void
ingest_text_add_extra(struct ingest_text *c, struct fz_span key, struct fz_span value)
{
    value = fz_text_trim(value);
    if (c->b->failed || !value.len || !key.len)
        return;
    struct ingest_text_extra *extra = extra_of(c, key);
    if (!extra) {
        if (!c->b->failed)
            ingest_note(c->b, "%.*s: left out, it is one text too many",
                        (int)(key.len < EXTRA_KEY_MAX ? key.len : EXTRA_KEY_MAX),
                        (const char *)key.data);
        return;
    }
    size_t wanted = extra->len + 1 + value.len;
    if (wanted > extra->room) {
        /* Doubled: lines of one key may come by the thousand. */
        size_t room = wanted < 64 ? 64 : wanted * 2;
        char *grown = ingest_alloc(c->b, room, 1);
        if (!grown)
            return;
        if (extra->len)
            memcpy(grown, extra->text, extra->len);
        extra->text = grown;
        extra->room = room;
    }
    if (extra->len)
        extra->text[extra->len++] = '\n';
    memcpy(extra->text + extra->len, value.data, value.len);
    extra->len += value.len;
}

void
ingest_text_settle_extras(struct ingest_text *c)
{
    json_auto_t *all = json_object();
    for (size_t i = 0; i < c->n_extras && !c->b->failed; i++) {
        const struct ingest_text_extra *extra = &c->extras[i];
        /* What the model has is not shown twice. */
        if (extra->taken || !extra->len)
            continue;
        json_t *text = json_stringn(extra->text, extra->len);
        if (json_object_set_new(all, extra->key, text) != 0)
            c->b->failed = true;
    }
    if (!c->b->failed)
        ingest_add_extra(c->b, NULL, all, NULL);
}
