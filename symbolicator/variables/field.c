/*
 * What the files of all kinds of types share: texts, lists of fields, the parts of a value.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"
#include "symbolicator/variables/value.h"

const char *
variables_text(struct sym_variables *variables, struct fz_span text)
{
    char *clean = fz_text_clean_utf8(variables->arena, text);
    if (clean)
        return clean;
    variables->no_memory = true;
    return "";
}

const char *
variables_printf(struct sym_variables *variables, const char *fmt, ...)
{
    char text[VARIABLES_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return variables_text(variables, fz_span_cstr(text));
}

void
variables_value_absent(struct sym_variable *out, enum sym_availability why)
{
    out->availability = why;
    out->value = NULL;
}

void
variables_value_text(struct variables_value *value, struct sym_variable *out, const char *text)
{
    out->value = variables_text(value->variables, fz_span_cstr(text));
}

struct sym_variable *
variables_fields_add(struct variables_fields *fields, const char *name,
                     const struct variables_type *type)
{
    struct variables_value *value = fields->value;
    if (fields->n >= fields->limit || value->n_fields >= VARIABLES_FIELDS_MAX) {
        fields->n_cut++;
        return NULL;
    }
    struct sym_variable *list = fz_list_grow_in(value->variables->arena, fields->list,
                                                &fields->room, fields->n + 1, sizeof(*list));
    if (!list) {
        value->variables->no_memory = true;
        return NULL;
    }
    value->n_fields++;
    fields->list = list;
    list[fields->n] =
        (struct sym_variable){.name = name, .type = type ? type->name : NULL, .kind = value->kind};
    return &list[fields->n++];
}

void
variables_fields_done(const struct variables_fields *fields, struct sym_variable *out)
{
    size_t n_available = 0, n_partial = 0;
    enum sym_availability why = SYM_VALUE_AVAILABLE;
    out->fields = fields->list;
    out->n_fields = fields->n;
    out->n_fields_cut = fields->n_cut;
    for (size_t i = 0; i < fields->n; i++) {
        enum sym_availability state = fields->list[i].availability;
        n_available += state == SYM_VALUE_AVAILABLE;
        n_partial += state == SYM_VALUE_PARTIAL;
        if (state != SYM_VALUE_AVAILABLE && why == SYM_VALUE_AVAILABLE)
            why = state;
    }
    if (n_available == fields->n)
        out->availability = SYM_VALUE_AVAILABLE;
    else
        out->availability = n_available || n_partial ? SYM_VALUE_PARTIAL : why;
}

void
variables_value_part(struct variables_value *value, const struct variables_type *type,
                     const struct variables_place *place, struct sym_variable *out)
{
    value->depth++;
    value->variables->fill(value, type, place, out);
    value->depth--;
}
