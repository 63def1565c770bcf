#include "storage/store_issue_list.h"

#include <stdio.h>
#include <stdlib.h>

#include "storage/store_tally.h"

enum { LIST_MAX = 1000 };

/* ---- order ---- */

/* What an issue is ordered by: the largest first. */
struct place {
    int64_t first, second, number;
    uint32_t at; /* in tally.issues */
};

static struct place
place_of(const struct store_counted *issue, enum store_issue_sort sort)
{
    struct place place = {.second = (int64_t)issue->n_users, .number = issue->number};
    switch (sort) {
    case STORE_ISSUES_BY_USERS:
        place.first = (int64_t)issue->n_new_users;
        break;
    case STORE_ISSUES_BY_REPORTS:
        place.first = (int64_t)issue->n_reports;
        break;
    case STORE_ISSUES_BY_LAST_SEEN:
        place.first = issue->last_ms;
        break;
    case STORE_ISSUES_BY_FIRST_SEEN:
        place.first = issue->first_ms;
        /* Users come while a list is read page by page; the first time and the number stay. */
        place.second = 0;
        break;
    case STORE_ISSUES_BY_TREND:
        for (int i = 0; i < STORE_TREND; i++)
            place.first += i < STORE_TREND / 2 ? -(int64_t)issue->trend[i] : issue->trend[i];
        break;
    }
    return place;
}

static int
compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? 1 : -1;
    if (x->second != y->second)
        return x->second < y->second ? 1 : -1;
    return (x->number < y->number) - (x->number > y->number);
}

/* ---- cursors ---- */

static const char *
make_cursor(const struct place *last, enum store_issue_sort sort, struct fz_arena *arena)
{
    /* 33 bytes at most: ids are as short. Counts and numbers are far from 2^48. */
    const char *rest =
        fz_arena_printf(arena, "%c%llx.%llx", 'a' + (int)sort, (unsigned long long)last->second,
                        (unsigned long long)last->number);
    return rest ? store_cursor_make(arena, last->first, rest) : NULL;
}

static enum fz_code
read_cursor(const char *cursor, enum store_issue_sort sort, struct fz_arena *arena,
            struct place *ret, struct fz_error *err)
{
    char rest[STORE_ID_TEXT], *dot, *end;
    enum fz_code code = store_cursor_parse(cursor, arena, &ret->first, rest, err);
    if (code != FZ_OK)
        return code;
    ret->second = (int64_t)strtoll(rest + 1, &dot, 16);
    ret->number = *dot == '.' ? (int64_t)strtoll(dot + 1, &end, 16) : 0;
    if (*rest != 'a' + (int)sort || *dot != '.' || *end != '\0' || ret->number <= 0)
        return fz_fail(err, FZ_E_MALFORMED, "the cursor is not one of this list's");
    return FZ_OK;
}

/* ---- counts ---- */

/* All that the order and the numbers need, except for the trend of issues that are counted for all time. */
static enum fz_code
tally(struct store_tally *t, const struct store_issue_search *search, bool *ret_all_time,
      struct fz_error *err)
{
    struct store_fact_query facts;
    enum fz_code code =
        store_fact_query_make(t->store, t->project_id, search->query, false, t->arena, &facts, err);
    *ret_all_time = code == FZ_OK && !store_fact_query_has_any(&facts);
    bool is_many = false;
    if (code == FZ_OK && !*ret_all_time)
        code = store_fact_query_look(&facts, ret_all_time, &is_many, err);
    if (code == FZ_OK && !*ret_all_time && !is_many)
        code = store_fact_query_plan(&facts, err);
    if (code == FZ_OK)
        code = store_tally_issues(t, search->query, *ret_all_time, err);
    if (code != FZ_OK || !*ret_all_time)
        return code == FZ_OK ? store_tally_facts(t, &facts, err) : code;
    if (search->sort == STORE_ISSUES_BY_USERS)
        code = store_tally_newest(t, err);
    if (code == FZ_OK && search->sort == STORE_ISSUES_BY_TREND)
        code = store_tally_trend(t, NULL, err);
    return code;
}

/* ---- the page ---- */

/* The texts of the issues with these numbers, which are sorted; counts as counted. */
static enum fz_code
read_texts(struct store_tally *t, const struct place *places, const struct store_ids *numbers,
           bool all_time, struct store_listed_issue *issues, struct fz_error *err)
{
    struct store_issue *found = NULL;
    enum fz_code code = store_issues_get(t->store, t->project_id, numbers, t->arena, &found, err);
    if (code == FZ_OK && !all_time)
        code = store_tally_versions_start(t, numbers, err);
    for (size_t i = 0; code == FZ_OK && i < numbers->n; i++) {
        const struct store_counted *counted = &t->issues[places[i].at];
        struct store_issue *issue = &issues[i].issue;
        *issue = found[store_ids_find(numbers, counted->number)];
        memcpy(issues[i].trend, counted->trend, sizeof(counted->trend));
        issue->n_reports = counted->n_reports;
        issue->n_users = counted->n_users;
        issue->first_ms = counted->first_ms;
        issue->last_ms = counted->last_ms;
        if (!all_time)
            store_tally_versions(t, counted, issue);
    }
    return code;
}

static enum fz_code
read_page(struct store_tally *t, const struct place *places, bool all_time,
          const struct store_issue_search *search, struct store_issue_page *ret,
          struct fz_error *err)
{
    struct store_ids numbers = {0};
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < ret->n; i++)
        code = store_ids_put(&numbers, t->issues[places[i].at].number, t->arena, err);
    store_ids_sort(&numbers);
    if (code == FZ_OK && all_time && search->sort != STORE_ISSUES_BY_TREND)
        code = store_tally_trend(t, &numbers, err);
    ret->issues = fz_arena_array(t->arena, ret->n, sizeof(*ret->issues));
    if (code == FZ_OK && !ret->issues)
        code = fz_arena_fail(t->arena, err);
    return code == FZ_OK ? read_texts(t, places, &numbers, all_time, ret->issues, err) : code;
}

static enum fz_code
list(struct store_tally *t, const struct store_issue_search *search, struct store_page *page,
     struct store_issue_page *ret, struct fz_error *err)
{
    bool all_time = false;
    size_t n = 0, first = 0;
    struct place after;
    enum fz_code code = FZ_OK;
    if (page->cursor)
        code = read_cursor(page->cursor, search->sort, t->arena, &after, err);
    if (code == FZ_OK)
        code = tally(t, search, &all_time, err);
    struct place *places = code == FZ_OK ? fz_arena_array(t->arena, t->n, sizeof(*places)) : NULL;
    if (!places)
        return code == FZ_OK ? fz_arena_fail(t->arena, err) : code;
    for (size_t i = 0; i < t->n; i++) {
        /* Without a report that meets the conditions it is not of the list; one without any is what a change of rules left. */
        if (t->issues[i].n_reports == 0)
            continue;
        places[n] = place_of(&t->issues[i], search->sort);
        places[n++].at = (uint32_t)i;
    }
    if (n)
        qsort(places, n, sizeof(*places), compare_places);
    while (page->cursor && first < n && compare_places(&places[first], &after) <= 0)
        first++;
    *ret = (struct store_issue_page){.trend = t->trend};
    ret->n = n - first < page->limit ? n - first : page->limit;
    const char *next = NULL;
    if (n - first > ret->n) {
        next = make_cursor(&places[first + ret->n - 1], search->sort, t->arena);
        if (!next)
            return fz_arena_fail(t->arena, err);
    }
    code = read_page(t, places + first, all_time, search, ret, err);
    page->n = ret->n;
    page->next = next;
    return code;
}

enum fz_code
store_issue_list(struct store *store, int64_t project_id, const struct store_issue_search *search,
                 struct store_page *page, struct fz_arena *arena, struct store_issue_page *ret,
                 struct fz_error *err)
{
    if (page->limit == 0 || page->limit > LIST_MAX)
        page->limit = LIST_MAX;
    struct store_tally t;
    struct store_issue_page made;
    enum fz_code code = store_tally_start(store, project_id, search->query, arena, &t, err);
    if (code == FZ_OK)
        code = list(&t, search, page, &made, err);
    store_tally_deinit(&t);
    if (code == FZ_OK)
        *ret = made;
    return code;
}
