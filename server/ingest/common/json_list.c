/* Lists of a JSON report under their limits: threads, frames, registers. */
#include <string.h>

#include "base/json/scan.h"
#include "base/text.h"
#include "server/ingest/common/json_member.h"

enum { NAME_SHOWN = 40 };

struct ingest_json_list
ingest_json_list_start(struct ingest_builder *b, const json_t *list, const char *name, size_t limit)
{
    size_t all = json_array_size(list), n = ingest_limit(b, name, all, limit);
    return (struct ingest_json_list){.b = b, .list = list, .name = name, .n = n, .n_cut = all - n};
}

/* "images[3]", at most 40 bytes of the name. Of a thousand frames hardly one is ever named, and printf took 8 % of a parse. */
static void
name_place(struct ingest_json_list *list)
{
    char digits[20];
    size_t n = 0, at = strnlen(list->name, NAME_SHOWN), number = list->number;
    if (list->n_visited == 1)
        memcpy(list->where, list->name, at);
    do
        digits[n++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    list->where[at++] = '[';
    while (n > 0)
        list->where[at++] = digits[--n];
    memcpy(list->where + at, "]", 2);
}

bool
ingest_json_list_next(struct ingest_json_list *list)
{
    if (list->b->failed || list->n_visited == list->n)
        return false;
    size_t at = list->n_visited++;
    /* The last place goes to the item that must be there, if it has not come by itself. */
    if (list->n_visited == list->n && list->must > at)
        at = list->must;
    list->number = list->backwards ? list->n + list->n_cut - 1 - at : at;
    list->item = json_array_get(list->list, list->number);
    name_place(list);
    return true;
}

bool
ingest_json_list_next_object(struct ingest_json_list *list)
{
    while (ingest_json_list_next(list)) {
        if (json_is_object(list->item))
            return true;
        ingest_note(list->b, "%s: not an object, left out", list->where);
    }
    return false;
}

struct ingest_stack
ingest_json_stack(struct ingest_builder *b, const json_t *list, const char *where,
                  bool oldest_first, ingest_json_frame_fn read_frame, void *user)
{
    /* The list's limit notes what is cut, so the stack does not note it again. */
    struct ingest_stack stack = ingest_stack_make(b, NULL, json_array_size(list));
    struct ingest_json_list items = ingest_json_list_start(b, list, where, b->limits->frames);
    items.backwards = oldest_first;
    while (ingest_json_list_next(&items)) {
        struct report_frame frame = {.image = -1};
        if (read_frame(user, items.item, items.where, &frame))
            (void)ingest_stack_add(b, &stack, &frame);
        else
            stack.has_gap = true;
    }
    return stack;
}

void
ingest_json_registers(struct ingest_builder *b, const json_t *object, const char *where,
                      struct report_thread *thread)
{
    const char *name;
    json_t *value;
    char at[INGEST_WHERE];
    snprintf(at, sizeof(at), "%.40s.registers", where);
    (void)ingest_limit(b, at, thread->n_registers + json_object_size(object), INGEST_REGISTERS_MAX);
    /* jansson's iterators take a non-const object, but do not change it. */
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        uint64_t number;
        uint8_t bytes[16];
        struct fz_span text = fz_span_make(json_string_value(value), json_string_length(value));
        bool is_vector = report_is_vector_name(name), is_number = json_scan_u64(value, &number);
        /* v0 to v31 and their kind have 128 bits, which no number of JSON has. */
        if (is_number)
            report_vector_set(number, bytes);
        if (is_vector && (is_number || report_vector_parse(text, bytes)))
            ingest_add_vector(b, thread, fz_span_cstr(name), bytes);
        /* An odd value costs one register; the others are needed to judge frame 0. */
        else if (is_number)
            ingest_add_register(b, thread, fz_span_cstr(name), number);
        else if (!json_is_null(value))
            ingest_note(b, "%.60s.%.40s: not a register's value", at, name);
    }
}

int64_t
ingest_json_thread_index(const json_t *thread, const char *const *keys, size_t place)
{
    for (; keys && *keys; keys++) {
        const json_t *value = json_object_get(thread, *keys);
        /* SDKs other than sentry-cocoa send ids as texts. */
        struct fz_span text = fz_span_make(json_string_value(value), json_string_length(value));
        int64_t index;
        if (json_is_integer(value))
            return json_integer_value(value);
        if (text.len && fz_text_i64(text, &index))
            return index;
    }
    return (int64_t)place;
}

size_t
ingest_json_crashed(const json_t *threads, const char *const *keys, const char *flag,
                    int64_t wanted)
{
    size_t flagged = 0;
    /* Backwards: of several that are marked, the first one is left in the end. */
    for (size_t i = json_array_size(threads); i-- > 0;) {
        const json_t *thread = json_array_get(threads, i);
        if (!json_is_object(thread))
            continue;
        if (wanted >= 0 && ingest_json_thread_index(thread, keys, i) == wanted)
            return i;
        if (json_is_true(json_object_get(thread, flag)))
            flagged = i;
    }
    return flagged;
}
