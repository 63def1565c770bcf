#include "server/cli/inspect_output.h"

#include "server/config/term.h"

static const char *
plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* "label   " before the first of a list, ", " before the others. */
static void
append_item(struct fz_buffer *out, const char *label, bool *is_open, const char *text)
{
    if (*is_open)
        fz_buffer_printf(out, ", %s", text);
    else
        fz_buffer_printf(out, "    %-10s%s", label, text);
    *is_open = true;
}

static void
show_debug_information(const struct sym_features *f, struct fz_buffer *out)
{
    if (!f->dwarf) {
        fz_buffer_text(out, "    debug     none\n");
        return;
    }
    if (f->dwarf_min == f->dwarf_max)
        fz_buffer_printf(out, "    debug     DWARF %u", f->dwarf_min);
    else
        fz_buffer_printf(out, "    debug     DWARF %u to %u", f->dwarf_min, f->dwarf_max);
    fz_buffer_printf(out, ", %llu unit%s, %llu function%s, %llu inlined call%s, %llu line row%s\n",
                     (unsigned long long)f->n_units, plural(f->n_units),
                     (unsigned long long)f->n_functions, plural(f->n_functions),
                     (unsigned long long)f->n_inlines, plural(f->n_inlines),
                     (unsigned long long)f->n_lines, plural(f->n_lines));
}

static const char *
kind_name(const struct sym_macho *macho)
{
    return sym_macho_is_dsym(macho) ? "dsym" : "binary";
}

void
inspect_output_text(const struct inspect_result *result, bool has_colour, struct fz_buffer *out)
{
    const struct sym_macho *macho = &result->slice->macho;
    const struct sym_features *f = &result->features;
    char uuid[FZ_UUID_DASHED] = "without UUID";
    if (macho->has_uuid)
        fz_uuid_format_dashed(&macho->uuid, uuid);
    fz_buffer_printf(out, "%s%s%s\n  %s %s %s, %zu bytes\n", term_style(has_colour, TERM_BOLD),
                     result->slice->path, term_style(has_colour, TERM_PLAIN), result->slice->arch,
                     uuid, kind_name(macho), macho->bytes.len);
    fz_buffer_printf(out, "    symbols   %llu function name%s%s\n",
                     (unsigned long long)f->n_symbols, plural(f->n_symbols),
                     f->function_starts ? ", function starts" : "");
    show_debug_information(f, out);
    bool is_open = false;
    if (f->lines)
        append_item(out, "carries", &is_open, "lines");
    if (f->inlines)
        append_item(out, "carries", &is_open, "inlined calls");
    if (f->variables)
        append_item(out, "carries", &is_open, "variables");
    if (f->unwind)
        append_item(out, "carries", &is_open, "unwind information");
    fz_buffer_text(out, is_open ? "\n" : "");
    /* dsymutil leaves it out; frames after the first need it for most variables. */
    if (f->variables && !f->unwind && sym_macho_is_dsym(macho))
        fz_buffer_text(out, "    lacks     unwind information, which the binary has: give both for "
                            "the values of variables\n");
    for (size_t i = 0; i < result->problems.n; i++) {
        const struct sym_problem *problem = &result->problems.list[i];
        fz_buffer_printf(out, "    %sproblem%s   %s", term_style(has_colour, TERM_WARNING),
                         term_style(has_colour, TERM_PLAIN), problem->text);
        /* One text for each kind: a damaged file would fill the screen with the others. */
        if (problem->count > 1)
            fz_buffer_printf(out, " (and %llu more of this kind)",
                             (unsigned long long)problem->count - 1);
        fz_buffer_char(out, '\n');
    }
    /* It was not asked for, or there is no DWARF to compare. */
    if (!result->verified)
        return;
    const struct sym_verify_stats *v = &result->verify;
    fz_buffer_printf(out,
                     "    verified  %llu units, %llu functions, %llu inlined calls, %llu line "
                     "rows: %llu difference%s\n",
                     (unsigned long long)v->n_units, (unsigned long long)v->n_functions,
                     (unsigned long long)v->n_inlines, (unsigned long long)v->n_rows,
                     (unsigned long long)v->n_differences, plural(v->n_differences));
    fz_buffer_append(out, result->differences.data, result->differences.len);
}

static void
features_json(const struct sym_features *f, struct json_write *out)
{
    json_write_open(out, "features", '{');
    json_write_bool(out, "symtab", f->symtab);
    json_write_bool(out, "function_starts", f->function_starts);
    json_write_bool(out, "dwarf", f->dwarf);
    json_write_bool(out, "lines", f->lines);
    json_write_bool(out, "inlines", f->inlines);
    json_write_bool(out, "variables", f->variables);
    json_write_bool(out, "unwind", f->unwind);
    /* Versions are left out rather than 0, which is not a version of DWARF. */
    if (f->dwarf) {
        json_write_u64(out, "dwarf_min", f->dwarf_min);
        json_write_u64(out, "dwarf_max", f->dwarf_max);
    }
    json_write_u64(out, "symbols", f->n_symbols);
    json_write_u64(out, "functions", f->n_functions);
    json_write_u64(out, "inlined_calls", f->n_inlines);
    json_write_u64(out, "line_rows", f->n_lines);
    json_write_u64(out, "units", f->n_units);
    json_write_close(out, '}');
}

void
inspect_output_problems(const struct sym_problems *problems, struct json_write *out)
{
    json_write_open(out, "problems", '[');
    for (size_t i = 0; i < problems->n; i++) {
        json_write_open(out, NULL, '{');
        json_write_text(out, "kind", sym_problem_kind_name(problems->list[i].kind));
        json_write_text(out, "text", problems->list[i].text);
        json_write_u64(out, "count", problems->list[i].count);
        json_write_close(out, '}');
    }
    json_write_close(out, ']');
}

static void
verify_json(const struct inspect_result *result, struct json_write *out)
{
    json_write_open(out, "verify", '{');
    json_write_u64(out, "units", result->verify.n_units);
    json_write_u64(out, "functions", result->verify.n_functions);
    json_write_u64(out, "inlined_calls", result->verify.n_inlines);
    json_write_u64(out, "line_rows", result->verify.n_rows);
    json_write_u64(out, "differences", result->verify.n_differences);
    json_write_text(out, "first_differences", fz_buffer_cstr(&result->differences));
    json_write_close(out, '}');
}

void
inspect_output_json(const struct inspect_result *result, struct json_write *out)
{
    const struct sym_macho *macho = &result->slice->macho;
    char uuid[FZ_UUID_TEXT];
    json_write_open(out, NULL, '{');
    json_write_text(out, "path", result->slice->path);
    if (macho->has_uuid) {
        fz_uuid_format(&macho->uuid, uuid);
        json_write_text(out, "uuid", uuid);
    }
    json_write_text(out, "arch", result->slice->arch);
    json_write_text(out, "kind", kind_name(macho));
    json_write_u64(out, "size", macho->bytes.len);
    features_json(&result->features, out);
    inspect_output_problems(&result->problems, out);
    if (result->verified)
        verify_json(result, out);
    json_write_close(out, '}');
}
