#include "server/report/variables.h"

/* A variable; from depth 1 on a field, element or pointee, whose kind is that of its variable. */
static void
write_variable(struct json_write *w, const struct report_variable *variable, unsigned depth)
{
    json_write_open(w, NULL, '{');
    json_write_text(w, "name", variable->name);
    json_write_text(w, "type", variable->type);
    if (depth == 0)
        json_write_text(w, "kind", report_variable_kind_names[variable->kind]);
    json_write_text(w, "value", variable->value);
    json_write_text(w, "availability", report_availability_names[variable->availability]);
    if (variable->maybe_stale)
        json_write_bool(w, "stale", true);
    if (variable->has_address)
        json_write_hex(w, "address", variable->address);
    json_write_text(w, "location", variable->location);
    bool has_room = depth + 1 < REPORT_VARIABLE_DEPTH_MAX;
    if (variable->n_fields && has_room) {
        json_write_open(w, "fields", '[');
        for (size_t i = 0; i < variable->n_fields; i++)
            write_variable(w, &variable->fields[i], depth + 1);
        json_write_close(w, ']');
    }
    size_t n_cut = variable->n_fields_cut + (has_room ? 0 : variable->n_fields);
    if (n_cut)
        json_write_u64(w, "fields_cut", n_cut);
    json_write_close(w, '}');
}

void
report_write_variables(struct json_write *w, const struct report_symbol *symbol)
{
    if (symbol->n_variables) {
        json_write_open(w, "variables", '[');
        for (size_t i = 0; i < symbol->n_variables; i++)
            write_variable(w, &symbol->variables[i], 0);
        json_write_close(w, ']');
    }
    if (symbol->n_variables_cut)
        json_write_u64(w, "variables_cut", symbol->n_variables_cut);
    if (symbol->availability != REPORT_VALUE_AVAILABLE)
        json_write_text(w, "variables_availability",
                        report_availability_names[symbol->availability]);
}

/* ---- read back -------------------------------------------------------------------------------- */

static enum report_availability
load_availability(const json_t *object, const char *key)
{
    return (enum report_availability)report_load_choice(object, key, report_availability_names,
                                                        FZ_ARRAY_LEN(report_availability_names));
}

/* The list at `key` of a symbol or a variable. */
static struct report_variable *
load_list(struct report_load *l, const json_t *object, const char *key, unsigned depth,
          enum report_variable_kind kind, size_t *ret_n)
{
    const json_t *list = json_object_get(object, key);
    *ret_n = 0;
    if (depth >= REPORT_VARIABLE_DEPTH_MAX)
        return NULL;
    struct report_variable *variables = report_load_array(l, list, sizeof(*variables), ret_n);
    for (size_t i = 0; i < *ret_n && !l->failed; i++) {
        const json_t *item = json_array_get(list, i);
        struct report_variable *variable = &variables[i];
        variable->name = report_load_text(l, item, "name");
        variable->type = report_load_text(l, item, "type");
        variable->kind = depth ? kind
                               : (enum report_variable_kind)report_load_choice(
                                     item, "kind", report_variable_kind_names,
                                     FZ_ARRAY_LEN(report_variable_kind_names));
        variable->value = report_load_text(l, item, "value");
        variable->availability = load_availability(item, "availability");
        variable->maybe_stale = report_load_bool(item, "stale");
        variable->has_address = json_scan_u64(json_object_get(item, "address"), &variable->address);
        variable->location = report_load_text(l, item, "location");
        variable->fields =
            load_list(l, item, "fields", depth + 1, variable->kind, &variable->n_fields);
        variable->n_fields_cut = (size_t)report_load_u64(item, "fields_cut");
    }
    return variables;
}

void
report_load_variables(struct report_load *l, const json_t *object, struct report_symbol *symbol)
{
    symbol->variables =
        load_list(l, object, "variables", 0, REPORT_VARIABLE_PARAM, &symbol->n_variables);
    symbol->n_variables_cut = (size_t)report_load_u64(object, "variables_cut");
    symbol->availability = load_availability(object, "variables_availability");
}
