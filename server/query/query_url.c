/*
 * The parameters of the report list (docs/api/reports-list.md) as conditions.
 *
 * Each name is one condition; its values are separated by commas or the name is repeated. A value that has a comma of its own
 * ("iPhone15,2", a user's name) is found too: the whole is one more alternative.
 */
#include <string.h>

#include "base/text.h"
#include "server/query/query_lex.h"

enum { LONGEST = STORE_QUERY_TEXT }; /* bytes of all values */

/* Parameters that are conditions; the others of these names would be keys with another meaning. */
static const struct {
    const char *name;
    enum store_field field;
    enum store_op op;
} parameters[] = {
    {"status", STORE_FIELD_STATUS, STORE_OP_EQUAL},
    {"format", STORE_FIELD_FORMAT, STORE_OP_EQUAL},
    {"kind", STORE_FIELD_KIND, STORE_OP_EQUAL},
    {"app", STORE_FIELD_APP, STORE_OP_ANY_CASE},
    {"version", STORE_FIELD_VERSION, STORE_OP_EQUAL},
    {"build", STORE_FIELD_BUILD, STORE_OP_EQUAL},
    {"release", STORE_FIELD_RELEASE, STORE_OP_EQUAL},
    {"environment", STORE_FIELD_ENVIRONMENT, STORE_OP_EQUAL},
    {"os", STORE_FIELD_OS, STORE_OP_ANY_CASE},
    {"os_version", STORE_FIELD_OS_VERSION, STORE_OP_EQUAL},
    {"os_build", STORE_FIELD_OS_BUILD, STORE_OP_EQUAL},
    {"device", STORE_FIELD_DEVICE, STORE_OP_EQUAL},
    {"arch", STORE_FIELD_ARCH, STORE_OP_EQUAL},
    {"user", STORE_FIELD_USER, STORE_OP_EQUAL},
    {"signal", STORE_FIELD_SIGNAL, STORE_OP_EQUAL},
    {"mach", STORE_FIELD_MACH, STORE_OP_EQUAL},
    {"code", STORE_FIELD_CODE, STORE_OP_EQUAL},
    {"exception", STORE_FIELD_EXCEPTION, STORE_OP_EQUAL},
    {"function", STORE_FIELD_FUNCTION, STORE_OP_CONTAINS},
    {"file", STORE_FIELD_FILE, STORE_OP_CONTAINS},
    {"q", STORE_FIELD_TEXT, STORE_OP_CONTAINS},
    {"tag", STORE_FIELD_TAG, STORE_OP_ANY_CASE},
    {"run_id", STORE_FIELD_RUN, STORE_OP_EQUAL},
    {"image", STORE_FIELD_IMAGE, STORE_OP_EQUAL},
    {"uuid", STORE_FIELD_UUID, STORE_OP_EQUAL},
    {"issue", STORE_FIELD_ISSUE, STORE_OP_EQUAL},
    {"crashed_since", STORE_FIELD_CRASHED, STORE_OP_AT_LEAST},
    {"crashed_until", STORE_FIELD_CRASHED, STORE_OP_LESS},
};

static const char since_name[] = "since", until_name[] = "until";

/* The values of one parameter. */
struct values {
    struct query_build *build;
    enum store_field field;
    enum store_op op;
    struct query_piece pieces[STORE_QUERY_VALUES + 1]; /* one more than is allowed */
    size_t n;
};

bool
query_is_parameter(const char *name)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(parameters); i++) {
        if (strcmp(parameters[i].name, name) == 0)
            return true;
    }
    return strcmp(name, since_name) == 0 || strcmp(name, until_name) == 0;
}

static enum fz_code
add_piece(struct values *values, struct fz_span text, struct fz_error *err)
{
    struct fz_arena *arena = values->build->arena;
    if (values->n == FZ_ARRAY_LEN(values->pieces))
        return FZ_OK; /* query_build_add() refuses them */
    char *copy = fz_arena_text(arena, text);
    if (!copy)
        return fz_arena_fail(arena, err);
    values->pieces[values->n++] = (struct query_piece){.text = copy};
    return FZ_OK;
}

static bool
has_list(const struct values *values)
{
    return values->op == STORE_OP_EQUAL || values->op == STORE_OP_ANY_CASE;
}

/* The comma that ends the value which begins at `start`, or the end of the text. */
static size_t
value_end(const struct values *values, struct fz_span text, size_t start)
{
    size_t end = start;
    while (end < text.len && (text.data[end] != ',' || (values->field == STORE_FIELD_DEVICE &&
                                                        query_is_model_comma(text, start, end))))
        end++;
    return end;
}

static enum fz_code
add_list(struct values *values, struct fz_span text, struct fz_error *err)
{
    enum store_field_type type = store_field_row(values->field)->type;
    enum fz_code code = FZ_OK;
    size_t n_before = values->n;
    for (size_t at = 0; code == FZ_OK && at < text.len;) {
        size_t end = value_end(values, text, at);
        if (end > at)
            code = add_piece(values, fz_span_between(text, at, end), err);
        at = end + 1;
    }
    bool is_name = type != STORE_FIELD_TYPE_CHOICE && type != STORE_FIELD_TYPE_UUID &&
                   type != STORE_FIELD_TYPE_NUMBER;
    bool is_whole = values->n == n_before + 1 && fz_span_is(text, values->pieces[n_before].text);
    return code == FZ_OK && is_name && !is_whole ? add_piece(values, text, err) : code;
}

static enum fz_code
add_condition(struct values *values, const char *name, struct fz_error *err)
{
    struct query_input input = {.field = values->field,
                                .op = values->op,
                                .name = name,
                                .pieces = values->pieces,
                                .n_pieces = values->n};
    return query_build_add(values->build, &input, err);
}

/* "channel:beta", or "channel" with any value. */
static enum fz_code
add_tag(struct values *values, const char *text, struct fz_error *err)
{
    struct fz_arena *arena = values->build->arena;
    const char *colon = strchr(text, ':');
    size_t len = colon ? (size_t)(colon - text) : strlen(text);
    const char *name = fz_arena_text(arena, fz_span_make(text, len));
    if (!name)
        return fz_arena_fail(arena, err);
    if (len == 0)
        return fz_fail(err, FZ_E_MALFORMED, "tag: '%.40s' has no name; write NAME:VALUE or NAME",
                       text);
    values->n = 0;
    values->op = colon ? STORE_OP_ANY_CASE : STORE_OP_PRESENT;
    enum fz_code code = colon ? add_piece(values, fz_span_cstr(colon + 1), err) : FZ_OK;
    return code == FZ_OK ? add_condition(values, name, err) : code;
}

static enum fz_code
add_parameter(struct values *values, const char *value, struct fz_error *err)
{
    if (values->field == STORE_FIELD_TAG)
        return add_tag(values, value, err);
    /* A part of a text may hold a comma. */
    return has_list(values) ? add_list(values, fz_span_cstr(value), err)
                            : add_piece(values, fz_span_cstr(value), err);
}

/* All values of one name. */
static enum fz_code
add_named(struct query_build *build, size_t at, const struct query_parameter *list, size_t n,
          struct fz_error *err)
{
    struct values values = {.build = build, .field = parameters[at].field, .op = parameters[at].op};
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        if (strcmp(list[i].name, parameters[at].name) == 0 && list[i].value && *list[i].value)
            code = add_parameter(&values, list[i].value, err);
    }
    bool is_done = values.n == 0 || values.field == STORE_FIELD_TAG;
    return code == FZ_OK && !is_done ? add_condition(&values, NULL, err) : code;
}

/* The first of this name narrows the range that the query has. */
static enum fz_code
narrow(struct query_build *build, const char *name, const struct query_parameter *list, size_t n,
       struct fz_error *err)
{
    bool is_since = strcmp(name, since_name) == 0;
    int64_t time = 0, *bound = is_since ? &build->query.since_ms : &build->query.until_ms;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].name, name) != 0 || !list[i].value || !*list[i].value)
            continue;
        struct query_piece piece = {.text = list[i].value};
        enum fz_code code = query_build_time(build, name, &piece, &time, err);
        bool is_narrower = !*bound || (is_since ? time > *bound : time < *bound);
        if (code == FZ_OK && is_narrower)
            *bound = time;
        return code;
    }
    return FZ_OK;
}

static enum fz_code
check_texts(const struct query_parameter *list, size_t n, struct fz_error *err)
{
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        if (!query_is_parameter(list[i].name) || !list[i].value)
            continue;
        len += strlen(list[i].value);
        if (!fz_text_is_utf8(fz_span_cstr(list[i].value)))
            return fz_fail(err, FZ_E_MALFORMED, "%s: not a text of UTF-8", list[i].name);
    }
    if (len > LONGEST)
        return fz_fail(err, FZ_E_MALFORMED, "the filters have %zu bytes, at most %d", len,
                       (int)LONGEST);
    return FZ_OK;
}

enum fz_code
query_add_parameters(struct store_query *query, const struct query_parameter *list, size_t n,
                     struct fz_arena *arena, struct fz_error *err)
{
    struct query_build build;
    enum fz_code code = check_texts(list, n, err);
    if (code == FZ_OK)
        code = query_build_start(&build, query, arena, err);
    for (size_t i = 0; code == FZ_OK && i < FZ_ARRAY_LEN(parameters); i++)
        code = add_named(&build, i, list, n, err);
    if (code == FZ_OK)
        code = narrow(&build, since_name, list, n, err);
    if (code == FZ_OK)
        code = narrow(&build, until_name, list, n, err);
    if (code == FZ_OK)
        *query = build.query;
    /* Offsets are of the query's text, and these texts are not in it. */
    else if (err)
        err->offset = -1;
    return code;
}
