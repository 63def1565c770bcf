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

/* Issues that have reports which meet the conditions. */
struct listing {
    struct store_tally *t;
    const struct store_issue_search *search;
    bool all_time; /* the counts are those of all time, with users */
    struct place *places;
    size_t n;
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
    if (code != FZ_OK)
        return code;
    if (!*ret_all_time)
        code = store_tally_facts(t, &facts, err);
    if (code == FZ_OK && search->sort == STORE_ISSUES_BY_USERS)
        code = *ret_all_time ? store_tally_newest(t, err) : store_tally_new_users(t, err);
    if (code == FZ_OK && search->sort == STORE_ISSUES_BY_TREND && *ret_all_time)
        code = store_tally_trend(t, NULL, err);
    return code;
}

/* ---- the order ---- */

static enum fz_code
make_places(struct listing *l, struct fz_error *err)
{
    const struct store_tally *t = l->t;
    l->places = fz_arena_array(t->arena, t->n, sizeof(*l->places));
    if (!l->places)
        return fz_arena_fail(t->arena, err);
    for (size_t i = 0; i < t->n; i++) {
        /* Without a report that meets the conditions it is not of the list; one without any is what a change of rules left. */
        if (t->issues[i].n_reports == 0)
            continue;
        struct place *place = &l->places[l->n++];
        *place = place_of(&t->issues[i], l->search->sort);
        place->at = (uint32_t)i;
        /* Users are not counted yet (find_page()). */
        if (!l->all_time && l->search->sort != STORE_ISSUES_BY_FIRST_SEEN)
            place->second = (int64_t)t->issues[i].n_reports;
    }
    if (l->n)
        qsort(l->places, l->n, sizeof(*l->places), compare_places);
    return FZ_OK;
}

/* Count the users of these, which are what comes second in the order. */
static enum fz_code
count_users(struct listing *l, struct place *places, size_t n, struct fz_error *err)
{
    uint32_t *at = fz_arena_array(l->t->arena, n, sizeof(*at));
    if (!at)
        return fz_arena_fail(l->t->arena, err);
    for (size_t i = 0; i < n; i++)
        at[i] = places[i].at;
    enum fz_code code = store_tally_users(l->t, at, n, err);
    for (size_t i = 0; i < n; i++) {
        places[i] = place_of(&l->t->issues[at[i]], l->search->sort);
        places[i].at = at[i];
    }
    return code;
}

/*
 * Where the page begins, after the cursor (NULL: there is none).
 *
 * To count the users of all issues takes longer than the rest of the order, and no issue has more users than reports. With reports
 * in the place of users all issues are in an order in which none is too far back. Users are counted from its front, twice as many
 * issues each time, until what is not counted comes after the page and the issue that follows it, wherever it may be.
 */
static enum fz_code
find_page(struct listing *l, const struct place *after, size_t limit, size_t *ret_first,
          struct fz_error *err)
{
    struct place *places = l->places;
    size_t from = 0, first, to, n = l->n;
    while (after && from < n && places[from].first > after->first)
        from++;
    first = to = from;
    for (bool is_found = false; !is_found && !l->all_time;) {
        size_t more = to - from > limit ? to - from : limit + 1;
        more = more < n - to ? more : n - to;
        enum fz_code code = count_users(l, places + to, more, err);
        if (code != FZ_OK)
            return code;
        to += more;
        if (to > from)
            qsort(places + from, to - from, sizeof(*places), compare_places);
        for (first = from; after && first < to && compare_places(&places[first], after) <= 0;)
            first++;
        is_found = to == n ||
                   (to - first > limit && compare_places(&places[to], &places[first + limit]) > 0);
    }
    while (after && first < n && compare_places(&places[first], after) <= 0)
        first++;
    *ret_first = first;
    return FZ_OK;
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
list(struct listing *l, struct store_page *page, struct store_issue_page *ret, struct fz_error *err)
{
    struct store_tally *t = l->t;
    size_t first = 0;
    struct place after;
    enum fz_code code = FZ_OK;
    if (page->cursor)
        code = read_cursor(page->cursor, l->search->sort, t->arena, &after, err);
    if (code == FZ_OK)
        code = tally(t, l->search, &l->all_time, err);
    if (code == FZ_OK)
        code = make_places(l, err);
    if (code == FZ_OK)
        code = find_page(l, page->cursor ? &after : NULL, page->limit, &first, err);
    if (code != FZ_OK)
        return code;
    *ret = (struct store_issue_page){.trend = t->trend};
    ret->n = l->n - first < page->limit ? l->n - first : page->limit;
    const char *next = NULL;
    if (l->n - first > ret->n) {
        next = make_cursor(&l->places[first + ret->n - 1], l->search->sort, t->arena);
        if (!next)
            return fz_arena_fail(t->arena, err);
    }
    code = read_page(t, l->places + first, l->all_time, l->search, ret, err);
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
    struct listing l = {.t = &t, .search = search};
    struct store_issue_page made;
    enum fz_code code = store_tally_start(store, project_id, search->query, arena, &t, err);
    if (code == FZ_OK)
        code = list(&l, page, &made, err);
    store_tally_deinit(&t);
    if (code == FZ_OK)
        *ret = made;
    return code;
}
