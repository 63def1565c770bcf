/* Conditions as they are written become conditions of the table: each value is checked and read as its field's type. */
#include "server/query/query_build.h"

#include <string.h>

#include "base/suggest.h"
#include "base/text.h"
#include "base/time.h"
#include "base/uuid.h"
#include "base/version.h"

enum { SHOWN = 40 }; /* bytes of a value in a message */

/* The last millisecond of the year 9999, which is the last that can be written. */
static const int64_t last_ms = 253402300799999;

/* ---- choices ---- */

struct fz_span
query_choice_at(const char *choices, size_t at)
{
    const char *c = choices;
    for (; at > 0 && *c; at--) {
        c += strcspn(c, ",");
        c += strspn(c, ", ");
    }
    return fz_span_make(c, strcspn(c, ","));
}

static bool
is_same_lower(struct fz_span lower, const char *text)
{
    if (lower.len != strlen(text))
        return false;
    for (size_t i = 0; i < lower.len; i++) {
        char c = text[i];
        if (lower.data[i] != (uint8_t)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c))
            return false;
    }
    return true;
}

size_t
query_choice_find(const char *choices, const char *text)
{
    struct fz_span choice;
    for (size_t i = 0; (choice = query_choice_at(choices, i)).len; i++) {
        if (is_same_lower(choice, text))
            return i;
    }
    return SIZE_MAX;
}

/* ---- times ---- */

/* "90s", "30m", "24h", "7d", "2w". */
static bool
parse_age(struct fz_span text, int64_t *ret_ms)
{
    static const struct {
        char letter;
        int64_t ms;
    } units[] = {{'s', 1000}, {'m', 60000}, {'h', 3600000}, {'d', 86400000}, {'w', 604800000}};
    uint64_t n;
    if (text.len < 2 || !fz_text_u64(fz_span_until(text, text.len - 1), &n) || n > 1000000)
        return false;
    for (size_t i = 0; i < FZ_ARRAY_LEN(units); i++) {
        if (text.data[text.len - 1] == (uint8_t)units[i].letter) {
            *ret_ms = (int64_t)n * units[i].ms;
            return true;
        }
    }
    return false;
}

static bool
parse_date(struct fz_span text, int64_t *ret)
{
    enum { DAY = 10, LONGEST = 40 };
    static const char midnight[] = "T00:00:00Z";
    char fixed[LONGEST + sizeof(midnight)];
    if (fz_time_parse(text, ret))
        return true;
    if (text.len < DAY || text.len > LONGEST)
        return false;
    memcpy(fixed, text.data, text.len);
    size_t len = text.len;
    if (len == DAY) {
        /* A day alone begins at midnight, UTC. */
        memcpy(fixed + len, midnight, sizeof(midnight) - 1);
        len += sizeof(midnight) - 1;
    } else if (len > 16 && fixed[len - 6] == ' ') {
        /* A '+' in a URL means a space. */
        fixed[len - 6] = '+';
    }
    return fz_time_parse(fz_span_make(fixed, len), ret);
}

bool
query_time_parse(struct fz_span text, int64_t now_ms, int64_t *ret, bool *ret_is_age)
{
    int64_t time = 0, age = 0;
    uint64_t number;
    bool is_age = false;
    if (parse_age(text, &age)) {
        is_age = true;
        time = now_ms - age;
    } else if (!parse_date(text, &time)) {
        if (!fz_text_u64(text, &number) || number > (uint64_t)last_ms)
            return false;
        /* Seconds up to the year 5138, else milliseconds, as JavaScript's Date.now() has them. */
        time = (int64_t)(number >= 100000000000u ? number : number * 1000);
    }
    /* 0 would be "unknown". */
    *ret = time < 1 ? 1 : time > last_ms ? last_ms : time;
    if (ret_is_age)
        *ret_is_age = is_age;
    return true;
}

static enum fz_code
fail_time(const char *key, const struct query_piece *piece, struct fz_error *err)
{
    return fz_fail_at(err, FZ_E_MALFORMED, piece->offset,
                      "%s: '%.*s' is not a time; write 2026-11-20T10:11:12Z, 2026-11-20, Unix "
                      "seconds, or how long ago: 30m, 24h, 7d",
                      key, SHOWN, piece->text);
}

enum fz_code
query_build_time(const struct query_build *build, const char *key, const struct query_piece *piece,
                 int64_t *ret, struct fz_error *err)
{
    bool has_star = piece->any_before || piece->any_after;
    if (has_star || !query_time_parse(fz_span_cstr(piece->text), build->query.now_ms, ret, NULL))
        return fail_time(key, piece, err);
    return FZ_OK;
}

/* ---- one value ---- */

static bool
is_comparison(enum store_op op)
{
    return op == STORE_OP_LESS || op == STORE_OP_AT_MOST || op == STORE_OP_GREATER ||
           op == STORE_OP_AT_LEAST;
}

static enum fz_code
make_choice(const struct store_field_row *row, const struct query_piece *piece,
            struct store_query_value *ret, struct query_build *build, struct fz_error *err)
{
    struct fz_suggest suggest;
    size_t at = query_choice_find(row->choices, piece->text);
    if (at != SIZE_MAX) {
        /* As the table has it, whatever the case of what was written. */
        ret->number = (int64_t)at;
        ret->text = fz_arena_text(build->arena, query_choice_at(row->choices, at));
        return ret->text ? FZ_OK : fz_arena_fail(build->arena, err);
    }
    fz_suggest_start(&suggest, piece->text);
    for (size_t i = 0; query_choice_at(row->choices, i).len; i++) {
        const char *choice = fz_arena_text(build->arena, query_choice_at(row->choices, i));
        if (!choice)
            return fz_arena_fail(build->arena, err);
        fz_suggest_try(&suggest, choice);
    }
    return fz_fail_at(err, FZ_E_MALFORMED, piece->offset, "%s: '%.*s' is not one of %s%s",
                      row->name, SHOWN, piece->text, row->choices, fz_suggest_question(&suggest));
}

/* The hex digits of a UUID, or with a star the beginning of them: ids are found by an index. */
static enum fz_code
make_uuid(const struct store_field_row *row, const struct query_piece *piece, enum store_op op,
          struct store_query_value *ret, struct query_build *build, struct fz_error *err)
{
    struct fz_uuid uuid;
    char digits[FZ_UUID_TEXT];
    size_t n = 0;
    if (op != STORE_OP_WILDCARD && !fz_uuid_parse(fz_span_cstr(piece->text), &uuid))
        return fz_fail_at(err, FZ_E_MALFORMED, piece->offset, "%s: '%.*s' is not a UUID", row->name,
                          SHOWN, piece->text);
    if (piece->any_before)
        return fz_fail_at(err, FZ_E_MALFORMED, piece->offset,
                          "%s: only its beginning is looked for, as in %s:8c1f*", row->name,
                          row->name);
    if (op != STORE_OP_WILDCARD) {
        fz_uuid_format(&uuid, digits);
        n = strlen(digits);
    }
    for (const char *c = piece->text; op == STORE_OP_WILDCARD && *c; c++) {
        if (*c == '-')
            continue;
        int digit = fz_text_hex_digit(*c);
        if (digit < 0 || n == sizeof(digits) - 1)
            return fz_fail_at(err, FZ_E_MALFORMED, piece->offset,
                              "%s: '%.*s' is not a part of a UUID", row->name, SHOWN, piece->text);
        digits[n++] = "0123456789abcdef"[digit];
    }
    if (n == 0)
        return fz_fail_at(err, FZ_E_MALFORMED, piece->offset, "%s: no hex digit", row->name);
    ret->text = fz_arena_text(build->arena, fz_span_make(digits, n));
    return ret->text ? FZ_OK : fz_arena_fail(build->arena, err);
}

/* "12", "#12". */
static enum fz_code
make_number(const struct store_field_row *row, const struct query_piece *piece,
            struct store_query_value *ret, struct fz_error *err)
{
    int64_t number;
    const char *text = piece->text + (piece->text[0] == '#');
    if (strspn(text, "0123456789") != strlen(text) || !fz_text_i64(fz_span_cstr(text), &number) ||
        number < 1)
        return fz_fail_at(err, FZ_E_MALFORMED, piece->offset,
                          "%s: '%.*s' is not a number from 1 on", row->name, SHOWN, piece->text);
    ret->text = NULL;
    ret->number = number;
    return FZ_OK;
}

static size_t
n_characters(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((uint8_t)*text & 0xc0) != 0x80;
    return n;
}

static enum fz_code
check_text(const struct store_field_row *row, const struct query_piece *piece, enum store_op op,
           struct fz_error *err)
{
    bool is_part = op == STORE_OP_CONTAINS || op == STORE_OP_WILDCARD;
    /* The index is of trigrams; a shorter part would be compared with every text there is. */
    if (row->type == STORE_FIELD_TYPE_PART && is_part &&
        n_characters(piece->text) < STORE_QUERY_PART_MIN)
        return fz_fail_at(err, FZ_E_MALFORMED, piece->offset,
                          "%s: '%.*s' is too short to search for; write at least %d characters",
                          row->name, SHOWN, piece->text, (int)STORE_QUERY_PART_MIN);
    bool is_version = row->type == STORE_FIELD_TYPE_VERSION || row->type == STORE_FIELD_TYPE_OS;
    if (is_version && is_comparison(op) && !fz_version_is_ordered(piece->text))
        return fz_fail_at(err, FZ_E_MALFORMED, piece->offset,
                          "%s: '%.*s' has no number to compare with; write one like 4.2.1",
                          row->name, SHOWN, piece->text);
    return FZ_OK;
}

static enum fz_code
make_value(struct query_build *build, const struct store_condition *condition,
           const struct query_piece *piece, struct store_query_value *ret, struct fz_error *err)
{
    const struct store_field_row *row = store_field_row(condition->field);
    *ret = (struct store_query_value){
        .text = piece->text, .any_before = piece->any_before, .any_after = piece->any_after};
    const char *key = row->type == STORE_FIELD_TYPE_TAG ? "tag.NAME" : row->name;
    if (!*piece->text)
        return fz_fail_at(err, FZ_E_MALFORMED, piece->offset,
                          "%s: a value is empty; has:%s finds any value, -has:%s none", row->name,
                          key, key);
    if (row->type == STORE_FIELD_TYPE_CHOICE)
        return make_choice(row, piece, ret, build, err);
    if (row->type == STORE_FIELD_TYPE_UUID)
        return make_uuid(row, piece, condition->op, ret, build, err);
    if (row->type == STORE_FIELD_TYPE_NUMBER)
        return make_number(row, piece, ret, err);
    if (row->type == STORE_FIELD_TYPE_TIME) {
        ret->text = NULL;
        return query_build_time(build, row->name, piece, &ret->number, err);
    }
    /* Among values with stars, a part without them is still a part. */
    if (row->plain == STORE_OP_CONTAINS && condition->op == STORE_OP_WILDCARD && !ret->any_before &&
        !ret->any_after)
        ret->any_before = ret->any_after = true;
    return check_text(row, piece, condition->op, err);
}

/* ---- one condition ---- */

static enum fz_code
check_op(const struct query_input *input, struct fz_error *err)
{
    static const char *const signs[] = {"=", "", "*", "", "<", "<=", ">", ">=", "has:"};
    const struct store_field_row *row = store_field_row(input->field);
    if (!store_field_allows(input->field, input->op))
        return fz_fail_at(err, FZ_E_MALFORMED, input->offset, "%s: does not work with %s",
                          row->name, *signs[input->op] ? signs[input->op] : "a value");
    if (is_comparison(input->op) && input->n_pieces > 1)
        return fz_fail_at(err, FZ_E_MALFORMED, input->pieces[1].offset,
                          "%s: a comparison has one value; write a condition for each", row->name);
    return FZ_OK;
}

static enum fz_code
check_limits(const struct query_build *build, const struct query_input *input, struct fz_error *err)
{
    if (build->query.n == STORE_QUERY_CONDITIONS)
        return fz_fail_at(err, FZ_E_MALFORMED, input->offset, "more than %d conditions",
                          (int)STORE_QUERY_CONDITIONS);
    if (input->n_pieces > STORE_QUERY_VALUES)
        return fz_fail_at(err, FZ_E_MALFORMED, input->offset, "%s: more than %d values",
                          store_field_row(input->field)->name, (int)STORE_QUERY_VALUES);
    if (build->n_values + input->n_pieces > STORE_QUERY_ALL_VALUES)
        return fz_fail_at(err, FZ_E_MALFORMED, input->offset, "more than %d values",
                          (int)STORE_QUERY_ALL_VALUES);
    return FZ_OK;
}

enum fz_code
query_build_start(struct query_build *build, const struct store_query *query,
                  struct fz_arena *arena, struct fz_error *err)
{
    *build = (struct query_build){.arena = arena, .query = *query};
    build->list = fz_arena_array(arena, STORE_QUERY_CONDITIONS, sizeof(*build->list));
    if (!build->list)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < query->n; i++) {
        build->list[i] = query->conditions[i];
        build->n_values += query->conditions[i].n_values;
    }
    build->query.conditions = build->list;
    return FZ_OK;
}

enum fz_code
query_build_add(struct query_build *build, const struct query_input *input, struct fz_error *err)
{
    struct store_condition condition = {.field = input->field,
                                        .op = input->op,
                                        .is_negated = input->is_negated,
                                        .name = input->name,
                                        .n_values = input->n_pieces};
    enum fz_code code = check_op(input, err);
    if (code == FZ_OK)
        code = check_limits(build, input, err);
    if (code != FZ_OK)
        return code;
    struct store_query_value *values =
        fz_arena_array(build->arena, input->n_pieces, sizeof(*values));
    if (!values)
        return fz_arena_fail(build->arena, err);
    for (size_t i = 0; code == FZ_OK && i < input->n_pieces; i++)
        code = make_value(build, &condition, &input->pieces[i], &values[i], err);
    if (code != FZ_OK)
        return code;
    condition.values = values;
    build->n_values += input->n_pieces;
    build->list[build->query.n++] = condition;
    return FZ_OK;
}
