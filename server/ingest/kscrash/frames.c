/*
 * Frames, as a tree or as the text that they are in: a report of 120 KB has a thousand.
 *
 *   {"instruction_addr":4362092648,"object_addr":4362076160,"object_name":"Demo","symbol_addr":4362092600,"symbol_name":"main"}
 *
 * A frame of this form is read from its text. Whatever differs from it (escapes, members within members, values of another type, an
 * address alone) is made a tree, so that there is one reader of all that clients write.
 */
#include <stdio.h>

#include "base/json/scan.h"
#include "server/ingest/kscrash/kscrash.h"

bool
ingest_kscrash_read_frame(void *user, const json_t *value, const char *where,
                          struct report_frame *ret)
{
    struct ingest_builder *b = user;
    bool is_object = json_is_object(value);
    if (!json_scan_u64(is_object ? json_object_get(value, "instruction_addr") : value,
                       &ret->addr)) {
        ingest_note(b, "%s: no address", where);
        return false;
    }
    if (!is_object)
        return true;
    struct report_symbol symbol = {.function = ingest_json_text(b, value, where, "symbol_name")};
    uint64_t start = 0;
    ingest_json_u64(b, value, where, "symbol_addr", &start);
    /* Also without a name: the start is shown for stripped code. */
    ingest_set_start(ret, &symbol, start);
    ingest_add_client_symbol(b, ret, &symbol);
    return true;
}

/* ---- from their text ------------------------------------------------------------------------- */

void
ingest_kscrash_columns_find(const struct json_row *row, struct ingest_kscrash_columns *ret)
{
    if (ret->layout == row->layout)
        return;
    *ret = (struct ingest_kscrash_columns){
        .layout = row->layout,
        .addr = json_row_find(row, "instruction_addr"),
        .symbol_addr = json_row_find(row, "symbol_addr"),
        .symbol_name = json_row_find(row, "symbol_name"),
        .object_addr = json_row_find(row, "object_addr"),
        .object_name = json_row_find(row, "object_name"),
        .object_uuid = json_row_find(row, "object_uuid"),
    };
}

/* False: it needs its tree. */
static bool
read_flat(struct ingest_builder *b, const struct json_row *row,
          const struct ingest_kscrash_columns *columns, struct report_frame *ret)
{
    struct report_symbol symbol = {.function = NULL};
    struct fz_span name = {NULL, 0};
    uint64_t start = 0;
    if (!json_row_u64(row, columns->addr, &ret->addr) ||
        (json_row_has(row, columns->symbol_name) &&
         !json_row_text(row, columns->symbol_name, &name)) ||
        (json_row_has(row, columns->symbol_addr) &&
         !json_row_u64(row, columns->symbol_addr, &start)))
        return false;
    symbol.function = ingest_text(b, name);
    ingest_set_start(ret, &symbol, start);
    ingest_add_client_symbol(b, ret, &symbol);
    return true;
}

static bool
read_tree(struct ingest_builder *b, const struct json_row *row, const char *list, size_t number,
          struct report_frame *ret)
{
    char where[INGEST_WHERE];
    json_auto_t *tree = json_row_tree(row);
    b->failed = b->failed || !tree;
    if (b->failed)
        return false;
    snprintf(where, sizeof(where), "%.40s[%zu]", list, number);
    return ingest_kscrash_read_frame(b, tree, where, ret);
}

static void
add_object(struct ingest_kscrash_objects *objects, uint64_t addr)
{
    size_t i = objects->n;
    /* The last one first: neighbours on a stack are often of one image. */
    while (i > 0 && objects->addrs[i - 1] != addr)
        i--;
    if (i > 0 || addr == 0)
        return;
    if (objects->n == FZ_ARRAY_LEN(objects->addrs))
        objects->is_partial = true;
    else
        objects->addrs[objects->n++] = addr;
}

static void
note_object(struct ingest_kscrash_objects *objects, const struct json_row *row,
            const struct ingest_kscrash_columns *columns)
{
    uint64_t addr = 0;
    if (row->is_flat && json_row_u64(row, columns->object_addr, &addr))
        add_object(objects, addr);
    objects->is_partial = objects->is_partial || !row->is_flat;
}

struct ingest_stack
ingest_kscrash_read_stack(const struct ingest_kscrash *k, const json_t *list, const char *where)
{
    struct ingest_builder *b = k->b;
    struct json_rows rows;
    struct ingest_kscrash_columns columns = {.layout = 0};
    if (!json_rows_of(list, &rows))
        return ingest_json_stack(b, list, where, false, ingest_kscrash_read_frame, b);
    struct ingest_stack stack = ingest_stack_make(b, NULL, rows.n);
    size_t n = ingest_limit(b, where, rows.n, b->limits->frames);
    k->objects->n_lists++;
    k->objects->is_partial = k->objects->is_partial || n < rows.n;
    for (size_t i = 0; i < n && !b->failed && json_rows_next(&rows); i++) {
        struct report_frame frame = {.image = -1};
        ingest_kscrash_columns_find(&rows.row, &columns);
        note_object(k->objects, &rows.row, &columns);
        if ((rows.row.is_flat && read_flat(b, &rows.row, &columns, &frame)) ||
            read_tree(b, &rows.row, where, i, &frame))
            (void)ingest_stack_add(b, &stack, &frame);
        else
            stack.has_gap = true;
    }
    return stack;
}

/* ---- their images ---------------------------------------------------------------------------- */

struct ingest_kscrash_places
ingest_kscrash_places_start(const json_t *list)
{
    struct ingest_kscrash_places places = {.list = list};
    places.is_left = json_rows_of(list, &places.rows);
    return places;
}

void
ingest_kscrash_places_end(struct ingest_kscrash_places *places)
{
    json_decref(places->tree);
    places->tree = NULL;
}

static void
place_of_tree(const json_t *frame, struct ingest_kscrash_place *ret)
{
    /* The values of strings end with a NUL; NULL for what is not a string. */
    ret->name = fz_span_cstr(json_string_value(json_object_get(frame, "object_name")));
    ret->uuid = fz_span_cstr(json_string_value(json_object_get(frame, "object_uuid")));
    (void)json_scan_u64(json_object_get(frame, "object_addr"), &ret->object_addr);
    ret->has_addr = json_scan_u64(json_object_get(frame, "instruction_addr"), &ret->addr);
}

static void
place_of_row(const struct json_row *row, const struct ingest_kscrash_columns *columns,
             struct ingest_kscrash_place *ret)
{
    (void)json_row_text(row, columns->object_name, &ret->name);
    (void)json_row_text(row, columns->object_uuid, &ret->uuid);
    (void)json_row_u64(row, columns->object_addr, &ret->object_addr);
    ret->has_addr = json_row_u64(row, columns->addr, &ret->addr);
}

bool
ingest_kscrash_places_next(struct ingest_kscrash_places *places, struct ingest_kscrash_place *ret)
{
    const struct json_row *row = &places->rows.row;
    *ret = (struct ingest_kscrash_place){.addr = 0};
    ingest_kscrash_places_end(places);
    if (!places->is_left) {
        if (places->n_visited >= json_array_size(places->list))
            return false;
        place_of_tree(json_array_get(places->list, places->n_visited++), ret);
        return true;
    }
    if (!json_rows_next(&places->rows))
        return false;
    ingest_kscrash_columns_find(row, &places->columns);
    if (row->is_flat) {
        place_of_row(row, &places->columns, ret);
        return true;
    }
    places->tree = json_row_tree(row);
    place_of_tree(places->tree, ret);
    return true;
}
