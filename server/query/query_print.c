/* The canonical text of a query: keys by their names, quotes where they are needed, absolute times. */
#include <string.h>

#include "base/time.h"
#include "server/query/query_lex.h"

static void
append_quoted(const char *text, struct fz_buffer *out)
{
    fz_buffer_char(out, '"');
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fz_buffer_char(out, '\\');
        fz_buffer_char(out, *c);
    }
    fz_buffer_char(out, '"');
}

/* Would a piece that begins with it be read as it is? */
static bool
is_bare(const char *text)
{
    /* What is an operator, or makes of the key a text ("std::sort"). */
    if (!*text || strchr("=<>:", *text))
        return false;
    for (const char *c = text; *c; c++) {
        if ((uint8_t)*c <= ' ' || strchr("\"\\,*", *c))
            return false;
    }
    return true;
}

void
query_print_value(const char *text, struct fz_buffer *out)
{
    if (is_bare(text))
        fz_buffer_text(out, text);
    else
        append_quoted(text, out);
}

/* After another value of a device, a number would be read as the end of that value: "iPhone15,2" is one model. */
static bool
is_of_model(const struct store_condition *condition, size_t i)
{
    const char *text = condition->values[i].text;
    return condition->field == STORE_FIELD_DEVICE && i > 0 && !text[strspn(text, "0123456789")];
}

static bool
is_word(const char *text, const char *others)
{
    const char *c = text;
    while (*c && (query_is_key_char((uint8_t)*c) || strchr(others, *c)))
        c++;
    return *text && !*c;
}

static void
print_text(const char *text, struct fz_buffer *out)
{
    /* "OR" is refused, and what is not a word may be a condition. */
    bool is_operator = strcmp(text, "AND") == 0 || strcmp(text, "NOT") == 0;
    if (is_word(text, "") && !is_operator)
        fz_buffer_text(out, text);
    else
        append_quoted(text, out);
}

static void
print_tag(const char *name, struct fz_buffer *out)
{
    fz_buffer_text(out, "tag.");
    if (is_word(name, ".-"))
        fz_buffer_text(out, name);
    else
        append_quoted(name, out);
}

static void
print_time(int64_t ms, struct fz_buffer *out)
{
    char text[FZ_TIME_TEXT];
    fz_time_format(ms, text);
    fz_buffer_text(out, text);
}

static void
print_one(const struct store_condition *condition, size_t i, struct fz_buffer *out)
{
    const struct store_query_value *value = &condition->values[i];
    enum store_field_type type = store_field_row(condition->field)->type;
    if (type == STORE_FIELD_TYPE_TIME) {
        print_time(value->number, out);
        return;
    }
    if (type == STORE_FIELD_TYPE_NUMBER) {
        fz_buffer_printf(out, "%lld", (long long)value->number);
        return;
    }
    fz_buffer_text(out, value->any_before ? "*" : "");
    if (is_of_model(condition, i))
        append_quoted(value->text, out);
    else
        query_print_value(value->text, out);
    fz_buffer_text(out, value->any_after ? "*" : "");
}

static void
print_condition(const struct store_condition *condition, struct fz_buffer *out)
{
    static const char *const signs[] = {"=", "", "", "", "<", "<=", ">", ">=", ""};
    const struct store_field_row *row = store_field_row(condition->field);
    fz_buffer_text(out, condition->is_negated ? "-" : "");
    if (condition->field == STORE_FIELD_TEXT && condition->n_values == 1) {
        print_text(condition->values[0].text, out);
        return;
    }
    fz_buffer_text(out, condition->op == STORE_OP_PRESENT ? "has:" : "");
    if (condition->name)
        print_tag(condition->name, out);
    else
        fz_buffer_text(out, row->name);
    if (condition->op == STORE_OP_PRESENT)
        return;
    fz_buffer_char(out, ':');
    fz_buffer_text(out, condition->op == row->plain ? "" : signs[condition->op]);
    /* "received:TIME" means from then on, and is clearer with its operator. */
    if (row->type == STORE_FIELD_TYPE_TIME && condition->op == row->plain)
        fz_buffer_text(out, signs[condition->op]);
    for (size_t i = 0; i < condition->n_values; i++) {
        fz_buffer_text(out, i ? "," : "");
        print_one(condition, i, out);
    }
}

void
query_print(const struct store_query *query, struct fz_buffer *out)
{
    for (size_t i = 0; i < query->n; i++) {
        fz_buffer_text(out, i ? " " : "");
        print_condition(&query->conditions[i], out);
    }
    if (query->since_ms) {
        fz_buffer_text(out, query->n ? " since:" : "since:");
        print_time(query->since_ms, out);
    }
    if (query->until_ms) {
        fz_buffer_text(out, query->n || query->since_ms ? " until:" : "until:");
        print_time(query->until_ms, out);
    }
}
