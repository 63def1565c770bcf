/* A query against the texts of one report, by the rules that storage/store_query.h has for SQL. */
#include <string.h>

#include "base/version.h"
#include "server/query/query.h"

/* A text as far as it is looked at. */
static struct fz_span
text_of(const struct query_fact *fact)
{
    size_t len = fact->text ? strnlen(fact->text, STORE_QUERY_TEXT) : 0;
    return fz_span_make(fact->text, len);
}

static uint8_t
lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
}

static bool
begins_any_case(const uint8_t *text, const char *value, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (lower(text[i]) != lower((uint8_t)value[i]))
            return false;
    }
    return true;
}

/* ---- texts ---- */

static bool
matches_wildcard(struct fz_span text, const struct store_query_value *value, bool any_before,
                 bool any_after)
{
    size_t len = strlen(value->text);
    if (len > text.len || (!any_before && !any_after && len != text.len))
        return false;
    size_t first = any_before && !any_after ? text.len - len : 0;
    size_t last = any_before ? text.len - len : 0;
    for (size_t at = first; at <= last; at++) {
        if (begins_any_case(text.data + at, value->text, len))
            return true;
    }
    return false;
}

static bool
matches_text(struct fz_span text, enum store_op op, const struct store_query_value *value)
{
    if (text.len == 0)
        return false;
    if (op == STORE_OP_PRESENT)
        return true;
    if (op == STORE_OP_EQUAL)
        return fz_span_is(text, value->text);
    if (op == STORE_OP_CONTAINS)
        return matches_wildcard(text, value, true, true);
    bool is_wildcard = op == STORE_OP_WILDCARD;
    return matches_wildcard(text, value, is_wildcard && value->any_before,
                            is_wildcard && value->any_after);
}

/* ---- comparisons ---- */

static bool
is_in_order(int order, enum store_op op)
{
    if (op == STORE_OP_LESS)
        return order < 0;
    if (op == STORE_OP_AT_MOST)
        return order <= 0;
    if (op == STORE_OP_GREATER)
        return order > 0;
    return order >= 0;
}

static bool
is_comparison(enum store_op op)
{
    return op == STORE_OP_LESS || op == STORE_OP_AT_MOST || op == STORE_OP_GREATER ||
           op == STORE_OP_AT_LEAST;
}

static bool
compares(const struct store_condition *condition, const struct query_fact *fact)
{
    enum store_field_type type = store_field_row(condition->field)->type;
    const struct store_query_value *value = &condition->values[0];
    if (type == STORE_FIELD_TYPE_TIME)
        return fact->number > 0 &&
               is_in_order((fact->number > value->number) - (fact->number < value->number),
                           condition->op);
    if (!fact->text || !*fact->text)
        return false;
    if (type == STORE_FIELD_TYPE_BUILD)
        return is_in_order(fz_version_compare(NULL, fact->text, NULL, value->text), condition->op);
    return fz_version_is_ordered(fact->text) &&
           is_in_order(fz_version_compare_bound(fact->text, value->text), condition->op);
}

/* ---- conditions ---- */

/* One fact against the values. */
static bool
fact_holds(const struct store_condition *condition, const struct query_fact *fact)
{
    enum store_field_type type = store_field_row(condition->field)->type;
    if (is_comparison(condition->op))
        return compares(condition, fact);
    bool is_number = type == STORE_FIELD_TYPE_NUMBER || type == STORE_FIELD_TYPE_TIME;
    if (condition->op == STORE_OP_PRESENT)
        return is_number ? fact->number > 0 : matches_text(text_of(fact), STORE_OP_PRESENT, NULL);
    for (size_t i = 0; i < condition->n_values; i++) {
        const struct store_query_value *value = &condition->values[i];
        if (is_number ? fact->number == value->number
                      : matches_text(text_of(fact), condition->op, value))
            return true;
    }
    return false;
}

static const struct query_fact *
find_fact(const struct query_record *record, enum store_field field)
{
    for (size_t i = 0; i < record->n; i++) {
        if (record->facts[i].field == field && record->facts[i].text && *record->facts[i].text)
            return &record->facts[i];
    }
    return NULL;
}

/* The system by its name, its version, or both: "iOS", "18.1", "iOS 18.1". */
static bool
os_holds(const struct store_condition *condition, const struct query_record *record)
{
    enum { LONGEST = 512 };
    char both[LONGEST];
    const struct query_fact *name = find_fact(record, STORE_FIELD_OS);
    const struct query_fact *version = find_fact(record, STORE_FIELD_OS_VERSION);
    if (is_comparison(condition->op))
        return version && compares(condition, version);
    if ((name && fact_holds(condition, name)) || (version && fact_holds(condition, version)))
        return true;
    if (!name || !version)
        return false;
    struct fz_span first = text_of(name), second = text_of(version);
    /* Storage keeps 256 bytes of each. */
    if (first.len + second.len + 2 > sizeof(both))
        return false;
    memcpy(both, first.data, first.len);
    both[first.len] = ' ';
    memcpy(both + first.len + 1, second.data, second.len);
    both[first.len + 1 + second.len] = '\0';
    struct query_fact fact = {.field = STORE_FIELD_OS, .text = both};
    return fact_holds(condition, &fact);
}

static bool
is_about(const struct store_condition *condition, const struct query_fact *fact)
{
    if (condition->field == STORE_FIELD_TEXT)
        return store_field_row(fact->field)->is_searched;
    if (condition->field != fact->field)
        return false;
    if (condition->field != STORE_FIELD_TAG)
        return true;
    size_t len = strlen(condition->name);
    return fact->name && strlen(fact->name) == len &&
           begins_any_case((const uint8_t *)fact->name, condition->name, len);
}

static bool
condition_holds(const struct store_condition *condition, const struct query_record *record)
{
    if (condition->field == STORE_FIELD_OS)
        return os_holds(condition, record) != condition->is_negated;
    bool holds = false;
    for (size_t i = 0; i < record->n && !holds; i++)
        holds = is_about(condition, &record->facts[i]) && fact_holds(condition, &record->facts[i]);
    return holds != condition->is_negated;
}

static bool
is_in_range(const struct store_query *query, const struct query_record *record)
{
    if (!query->since_ms && !query->until_ms)
        return true;
    for (size_t i = 0; i < record->n; i++) {
        const struct query_fact *fact = &record->facts[i];
        if (fact->field == STORE_FIELD_RECEIVED && fact->number > 0 &&
            fact->number >= query->since_ms && (!query->until_ms || fact->number < query->until_ms))
            return true;
    }
    return false;
}

bool
query_matches(const struct store_query *query, const struct query_record *record)
{
    for (size_t i = 0; i < query->n; i++) {
        if (!condition_holds(&query->conditions[i], record))
            return false;
    }
    return is_in_range(query, record);
}
