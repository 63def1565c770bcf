/*
 * Texts of a day become numbers in two steps. While the reports are read, each distinct text has its place in a list, and a fact
 * has the number of that place. Then the list is looked up in the dictionary, and places become numbers of terms:
 *
 *     reports   "shop@1"  "shop@2"  "shop@1"            places 1 2 1
 *     list      "shop@1" = term 71, "shop@2" = term 85   numbers 71 85 71
 *
 * Reports are read an hour at a time, so that a day of two million needs no more memory than its distinct texts.
 */
#include "storage/store_fact_texts.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"

enum { PARTS_OF_DAY = 24, TEXTS_MEMORY = 256 * 1024 * 1024 };

const struct store_fact_text store_fact_texts[STORE_FACT_TEXTS] = {
    {STORE_FIELD_RELEASE, STORE_TERM_RELEASE, "release"},
    {STORE_FIELD_OS_BUILD, STORE_TERM_OS_BUILD, "os_build"},
    {STORE_FIELD_MACH, STORE_TERM_MACH, "mach"},
    {STORE_FIELD_CODE, STORE_TERM_CODE, "code"},
    {STORE_FIELD_FORMAT, STORE_TERM_FORMAT, "format"},
};

const struct store_fact_text *
store_fact_text_of(enum store_field field)
{
    for (size_t i = 0; i < STORE_FACT_TEXTS; i++) {
        if (store_fact_texts[i].field == field)
            return &store_fact_texts[i];
    }
    return NULL;
}

enum fz_code
store_fact_text_can(struct store *store, int64_t project_id, const struct store_fact_text *text,
                    bool *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int(text->term),
                                     sql_text(STORE_TERM_OTHER), sql_text("")};
    bool has_other = false;
    enum fz_code code = sql_number(store->sql,
                                   "SELECT id FROM terms WHERE project_id = $1 AND field = $2 AND "
                                   "text = $3 AND detail = $4",
                                   args, FZ_ARRAY_LEN(args), NULL, &has_other, err);
    if (code == FZ_OK)
        *ret = !has_other;
    return code;
}

/* ---- distinct texts ---- */

struct texts {
    struct store_term_ref *refs; /* in the order of their appearance, in the arena */
    size_t n, room;
    uint32_t *sorted; /* places in refs, by text; in the arena */
    size_t room_sorted;
    size_t last; /* the place that was found last: neighbours have the same as a rule */
};

static int
compare(const char *a, struct fz_span b)
{
    size_t len = strlen(a);
    int order = memcmp(a, b.data, len < b.len ? len : b.len);
    return order ? order : (len > b.len) - (len < b.len);
}

/* Where the text is in `sorted`, or belongs. */
static size_t
find_text(const struct texts *texts, struct fz_span text, bool *ret_found)
{
    size_t low = 0, high = texts->n;
    *ret_found = false;
    while (low < high && !*ret_found) {
        size_t mid = low + (high - low) / 2;
        int order = compare(texts->refs[texts->sorted[mid]].text, text);
        *ret_found = order == 0;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return high;
}

/* The place of a text from 1 on, which is added if it is new; 0 for no text. */
static enum fz_code
put_text(struct texts *texts, enum store_term term, struct fz_span text, struct fz_arena *arena,
         int64_t *ret, struct fz_error *err)
{
    bool found;
    *ret = 0;
    if (text.len == 0)
        return FZ_OK;
    if (texts->n && compare(texts->refs[texts->last].text, text) == 0) {
        *ret = (int64_t)texts->last + 1;
        return FZ_OK;
    }
    size_t at = find_text(texts, text, &found);
    if (!found && texts->n >= store_term_kinds[term].most) {
        /* One more than the dictionary takes: it is full, and then numbers are not compared. */
        text = fz_span_cstr(STORE_TERM_OTHER);
        at = find_text(texts, text, &found);
    }
    if (!found) {
        texts->refs =
            fz_list_grow_in(arena, texts->refs, &texts->room, texts->n + 1, sizeof(*texts->refs));
        texts->sorted = fz_list_grow_in(arena, texts->sorted, &texts->room_sorted, texts->n + 1,
                                        sizeof(*texts->sorted));
        const char *copy = fz_arena_text(arena, text);
        if (!texts->refs || !texts->sorted || !copy)
            return fz_arena_fail(arena, err);
        memmove(texts->sorted + at + 1, texts->sorted + at,
                (texts->n - at) * sizeof(*texts->sorted));
        texts->sorted[at] = (uint32_t)texts->n;
        texts->refs[texts->n++] = (struct store_term_ref){.term = term, .text = copy};
    }
    texts->last = texts->sorted[at];
    *ret = (int64_t)texts->last + 1;
    return FZ_OK;
}

/* ---- reading ---- */

struct reading {
    struct store *store;
    const struct store_fact_places *places;
    int64_t **numbers; /* of places in the lists, until the end */
    struct texts texts[STORE_FACT_TEXTS];
    size_t at; /* facts before it have their numbers */
    struct fz_arena *arena;
};

/* The fact of this report; false: it has none. */
static bool
find_fact(struct reading *r, int64_t received_ms, int64_t key)
{
    const struct store_fact_places *p = r->places;
    while (r->at < p->n && (p->received_ms[r->at] < received_ms ||
                            (p->received_ms[r->at] == received_ms && p->report_keys[r->at] < key)))
        r->at++;
    return r->at < p->n && p->received_ms[r->at] == received_ms && p->report_keys[r->at] == key;
}

static enum fz_code
read_part(struct reading *r, int64_t from_ms, int64_t to_ms, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(r->places->project_id), sql_int(from_ms),
                                     sql_int(to_ms)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        r->store->sql,
        "SELECT received_ms, key, release, os_build, mach, code, format, timestamp_ms, "
        "coalesce(image_set, 0), CASE WHEN run_id <> '' THEN 1 ELSE 0 END FROM reports WHERE "
        "project_id = $1 AND transient = 0 AND received_ms >= $2 AND received_ms < $3 ORDER BY "
        "received_ms, key",
        args, FZ_ARRAY_LEN(args), &rows, err);
    while (sql_row(&rows, &code, err)) {
        if (!find_fact(r, sql_col_int(&rows, 0), sql_col_int(&rows, 1)))
            continue;
        for (int i = 0; code == FZ_OK && i < STORE_FACT_TEXTS; i++)
            code = put_text(&r->texts[i], store_fact_texts[i].term, sql_col_bytes(&rows, 2 + i),
                            r->arena, &r->numbers[i][r->at], err);
        for (int i = STORE_FACT_TEXTS; i < STORE_FACT_OF_ROW; i++)
            r->numbers[i][r->at] = sql_col_int(&rows, 2 + i);
    }
    return code;
}

/* Places become numbers of terms. */
static enum fz_code
number(struct reading *r, int i, struct fz_error *err)
{
    struct texts *texts = &r->texts[i];
    if (texts->n == 0)
        return FZ_OK;
    enum fz_code code =
        store_terms_number(r->store, r->places->project_id, texts->refs, texts->n, r->arena, err);
    for (size_t k = 0; code == FZ_OK && k < r->places->n; k++) {
        int64_t place = r->numbers[i][k];
        r->numbers[i][k] = place ? texts->refs[place - 1].id : 0;
    }
    return code;
}

enum fz_code
store_fact_texts_read(struct store *store, const struct store_fact_places *places,
                      int64_t *ret[STORE_FACT_OF_ROW], struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(TEXTS_MEMORY);
    struct reading r = {.store = store, .places = places, .numbers = ret, .arena = &arena};
    int64_t from_ms = places->day * STORE_DAY_MS, step_ms = STORE_DAY_MS / PARTS_OF_DAY;
    enum fz_code code = FZ_OK;
    for (int i = 0; i < STORE_FACT_OF_ROW; i++)
        memset(ret[i], 0, places->n * sizeof(*ret[i]));
    for (int i = 0; code == FZ_OK && i < PARTS_OF_DAY; i++)
        code = read_part(&r, from_ms + i * step_ms, from_ms + (i + 1) * step_ms, err);
    for (int i = 0; code == FZ_OK && i < STORE_FACT_TEXTS; i++)
        code = number(&r, i, err);
    return code;
}
