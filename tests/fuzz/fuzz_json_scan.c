/* Whatever the scanner lets through, jansson reads, our builder as jansson does, also item by item; and it reads the same twice. */
#include <stdlib.h>
#include <string.h>

#include "base/json/build.h"
#include "base/json/rows.h"
#include "base/json/scan.h"
#include "base/json/walk.h"

/* What a scan of `text` alone counts. */
static void
add_notes(struct json_scan_notes *sum, struct fz_span text)
{
    static const struct json_scan_limits limits = {64, SIZE_MAX, 0};
    struct json_scan_notes notes;
    if (json_scan(text, &limits, NULL, &notes, NULL) != FZ_OK)
        abort();
    sum->n_values += notes.n_values;
    sum->n_keys += notes.n_keys;
    sum->n_arrays += notes.n_arrays;
    sum->n_objects += notes.n_objects;
}

/* `text`, whose tree is `tree`, as a member that is left out of the tree: its items are the same. */
static void
check_rows(struct fz_span text, const json_t *tree)
{
    static const char *const path[] = {"a", NULL};
    struct fz_buffer whole = fz_buffer_make(0);
    struct json_rows rows;
    struct json_scan_notes one_by_one = {.n_values = 1, .n_arrays = 1}, notes;
    fz_buffer_text(&whole, "{\"a\":");
    fz_buffer_append(&whole, text.data, text.len);
    fz_buffer_text(&whole, "}");
    json_t *built = json_build(whole.data, whole.len, path, NULL);
    /* Where the scanner has seen the array's end. */
    static struct json_scan_lists lists;
    static const struct json_scan_limits limits = {65, SIZE_MAX, 0};
    if (json_scan_with_lists(fz_buffer_span(&whole), &limits, NULL, NULL, &lists, NULL) != FZ_OK)
        abort();
    json_t *again = json_build(whole.data, whole.len, path, &lists);
    if (!json_equal(built, again))
        abort();
    json_decref(again);
    bool is_left = json_rows_of(json_object_get(built, "a"), &rows);
    if (is_left != json_is_array(tree) || (is_left && rows.n != json_array_size(tree)))
        abort();
    for (size_t i = 0; is_left && i < rows.n; i++) {
        const json_t *want = json_array_get(tree, i);
        const struct json_row *row = &rows.row;
        if (!json_rows_next(&rows))
            abort();
        json_t *item = json_row_tree(row);
        add_notes(&one_by_one, row->text);
        if (!item || !json_equal(item, want))
            abort();
        for (size_t m = 0; row->is_flat && m < row->n; m++) {
            /* A key has no NUL: the scanner has replaced it. */
            char key[64] = {0};
            uint64_t got, wanted;
            struct fz_span got_text;
            if (row->members[m].key.len >= sizeof(key))
                continue;
            memcpy(key, row->members[m].key.data, row->members[m].key.len);
            const json_t *value = json_object_get(want, key);
            int found = json_row_find(row, key);
            bool is_number = json_row_u64(row, found, &got);
            if (is_number != json_scan_u64(value, &wanted) || (is_number && got != wanted) ||
                json_row_has(row, found) == json_is_null(value) ||
                json_row_text(row, found, &got_text) != json_is_string(value) ||
                (json_is_string(value) && !fz_span_is(got_text, json_string_value(value))))
                abort();
        }
        json_decref(item);
    }
    /* Items that are like others are scanned by comparing them. */
    if (is_left &&
        (json_scan(text, &limits, NULL, &notes, NULL) != FZ_OK ||
         notes.n_values != one_by_one.n_values || notes.n_keys != one_by_one.n_keys ||
         notes.n_arrays != one_by_one.n_arrays || notes.n_objects != one_by_one.n_objects))
        abort();
    json_decref(built);
    fz_buffer_deinit(&whole);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct json_scan_limits limits = {64, 1 << 22, 0};
    struct fz_span in = fz_span_make(data, size);
    struct fz_buffer once, twice;
    struct json_scan_notes notes;
    struct fz_error err = {.offset = 0};
    fz_buffer_init(&once, 0);
    fz_buffer_init(&twice, 0);
    /* The walk takes bytes of any kind. */
    struct json_walk walk = json_walk_start(in);
    struct json_member member;
    while (json_walk_next(&walk, &member))
        ;
    if (json_scan(in, &limits, &once, NULL, &err) != FZ_OK) {
        if (err.offset < 0 || (size_t)err.offset > size || once.len != 0)
            abort();
    } else {
        json_t *tree = json_loadb(once.data, once.len, JSON_DECODE_ANY, NULL);
        if (!tree)
            abort();
        struct fz_buffer text = fz_buffer_make(0);
        fz_buffer_append(&text, once.data, once.len);
        json_t *built = json_build(text.data, text.len, NULL, NULL);
        /* The same members in the same order, and the text is as it was. */
        char *want = json_dumps(tree, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
        char *got = built ? json_dumps(built, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) : NULL;
        if (!got || strcmp(got, want) != 0 || !json_equal(built, tree) ||
            !fz_span_equal(fz_buffer_span(&text), fz_buffer_span(&once)))
            abort();
        free(want);
        free(got);
        fz_buffer_deinit(&text);
        check_rows(fz_buffer_span(&once), tree);
        json_decref(built);
        json_decref(tree);
        /* Repaired text needs no repair, and white space does not matter. */
        if (json_scan(fz_buffer_span(&once), &limits, &twice, &notes, NULL) != FZ_OK ||
            !fz_span_equal(fz_buffer_span(&once), fz_buffer_span(&twice)) ||
            notes.n_big_numbers + notes.n_bad_utf8 + notes.n_bad_escapes != 0)
            abort();
        fz_buffer_clear(&twice);
        json_walk_compact(fz_buffer_span(&once), &twice);
        if (json_scan(fz_buffer_span(&twice), &limits, NULL, NULL, NULL) != FZ_OK)
            abort();
    }
    size_t used = 0;
    if (json_scan_first(in, &limits, NULL, NULL, &used, NULL) == FZ_OK && used > size)
        abort();
    fz_buffer_deinit(&once);
    fz_buffer_deinit(&twice);
    return 0;
}
