/*
 * Variables under the line of their frame or inlined call, as a debugger's `bt full` has them:
 *
 *   1   Demo                          <tab>       0x104004068 work_step + 8 (work.c:5)
 *           (int) count = 7
 *           (struct item *) item = 0x280001000 {
 *               (double) price = 9.5
 *               (char[4]) code = "abc"
 *               (int[3]) sizes = {1, 2, 3}
 *           }
 *           (int) total = <optimized out>
 */
#include "server/report/crash/parts.h"

#include <stdio.h>

enum { INDENT = 8, STEP = 4, LINE_ELEMENTS = 16, LINE_BYTES = 80 };

/* In angle brackets; NULL for a value that is simply there. */
static const char *const words[] = {
    [REPORT_VALUE_ENTRY_VALUE] = "value at the call",
    [REPORT_VALUE_PARTIAL] = "partial",
    [REPORT_VALUE_OPTIMIZED_OUT] = "optimized out",
    [REPORT_VALUE_REGISTER_NOT_RECOVERABLE] = "register not recoverable",
    [REPORT_VALUE_MEMORY_NOT_CAPTURED] = "memory not captured",
    [REPORT_VALUE_UNSUPPORTED] = "not supported",
    [REPORT_VALUE_NO_DEBUG_INFO] = "no debug info",
    [REPORT_VALUE_REDACTED] = "redacted",
    [REPORT_VALUE_LIMIT] = "limit reached",
};

static void
put_indent(struct fz_buffer *out, unsigned depth)
{
    fz_buffer_printf(out, "%*s", (int)(INDENT + STEP * depth), "");
}

static bool
is_plain(const struct report_variable *field, size_t place)
{
    char name[24];
    snprintf(name, sizeof(name), "[%zu]", place);
    return field->name && strcmp(field->name, name) == 0 && field->value && field->n_fields == 0 &&
           field->availability == REPORT_VALUE_AVAILABLE && !field->maybe_stale;
}

/* Elements that fit on the line of their array: "{1, 2, 3}". */
static bool
put_elements(struct fz_buffer *out, const struct report_variable *array)
{
    size_t len = 0;
    if (array->n_fields == 0 || array->n_fields > LINE_ELEMENTS)
        return false;
    for (size_t i = 0; i < array->n_fields; i++) {
        if (!is_plain(&array->fields[i], i))
            return false;
        len += strlen(array->fields[i].value) + 2;
    }
    if (len > LINE_BYTES)
        return false;
    fz_buffer_char(out, '{');
    for (size_t i = 0; i < array->n_fields; i++) {
        fz_buffer_text(out, i ? ", " : "");
        report_crash_text(out, array->fields[i].value);
    }
    fz_buffer_text(out, array->n_fields_cut ? ", ...}" : "}");
    return true;
}

static void
put_state(struct fz_buffer *out, const struct report_variable *variable, bool after_value)
{
    const char *word = words[variable->availability];
    if (word)
        fz_buffer_printf(out, "%s<%s>", after_value ? " " : "", word);
    if (variable->maybe_stale && after_value)
        fz_buffer_text(out, " <may be stale>");
}

static void put_variable(struct fz_buffer *out, const struct report_variable *variable,
                         unsigned depth);

static void
put_fields(struct fz_buffer *out, const struct report_variable *variable, unsigned depth)
{
    fz_buffer_text(out, "{\n");
    for (size_t i = 0; i < variable->n_fields; i++)
        put_variable(out, &variable->fields[i], depth + 1);
    if (variable->n_fields_cut) {
        put_indent(out, depth + 1);
        fz_buffer_printf(out, "... (%zu more)\n", variable->n_fields_cut);
    }
    put_indent(out, depth);
    fz_buffer_char(out, '}');
}

/* What a pointer points to is shown in its place, if it has fields. */
static const struct report_variable *
with_fields(const struct report_variable *variable)
{
    const struct report_variable *only = variable->n_fields == 1 ? &variable->fields[0] : NULL;
    bool is_pointee = only && only->name && strcmp(only->name, "*") == 0 && only->n_fields &&
                      !only->value && only->availability == REPORT_VALUE_AVAILABLE;
    return is_pointee ? only : variable;
}

static void
put_variable(struct fz_buffer *out, const struct report_variable *variable, unsigned depth)
{
    const struct report_variable *holder = with_fields(variable);
    bool has_fields = holder->n_fields && depth + 1 < REPORT_VARIABLE_DEPTH_MAX;
    put_indent(out, depth);
    if (variable->type) {
        fz_buffer_char(out, '(');
        report_crash_text(out, variable->type);
        fz_buffer_text(out, ") ");
    }
    report_crash_text(out, variable->name ? variable->name : "???");
    fz_buffer_text(out, " = ");
    if (variable->value)
        report_crash_text(out, variable->value);
    if (variable->value && has_fields)
        fz_buffer_char(out, ' ');
    if (has_fields && !put_elements(out, holder))
        put_fields(out, holder, depth);
    bool any = variable->value || has_fields;
    /* A structure without members. */
    if (!any && !words[variable->availability])
        fz_buffer_text(out, "{}");
    put_state(out, variable, any);
    fz_buffer_char(out, '\n');
}

void
report_crash_variables(struct fz_buffer *out, const struct report_symbol *symbol)
{
    for (size_t i = 0; i < symbol->n_variables; i++)
        put_variable(out, &symbol->variables[i], 0);
    if (symbol->n_variables_cut) {
        put_indent(out, 0);
        fz_buffer_printf(out, "... (%zu more)\n", symbol->n_variables_cut);
    }
    if (words[symbol->availability]) {
        put_indent(out, 0);
        fz_buffer_printf(out, "<%s>\n", words[symbol->availability]);
    }
}
