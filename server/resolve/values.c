/*
 * Scopes of the symbolicator → variables of the report's symbols.
 *
 *   frame of the report        scopes of the chain's frame
 *   symbols[0] inner(int)  ←   scope 0, inlined
 *   symbols[1] main        ←   scope 1
 *
 * The scopes are copied, since those of a frame live in scratch memory, and the copies are redacted.
 */
#include "server/resolve/values.h"

#include <string.h>
#include <time.h>

#include "base/attr.h"
#include "base/text.h"
#include "symbolicator/variables/variables.h"

/* Units, types and values while they are read: a dSYM's abbreviations are the largest part. */
static const size_t SCRATCH_BYTES = 128 * 1024 * 1024;

enum { VARIABLE_BYTES = 96 }; /* of a variable in JSON, besides its texts */

/* One enum mirrors the other. */
_Static_assert((int)REPORT_VALUE_AVAILABLE == (int)SYM_VALUE_AVAILABLE, "availability");
_Static_assert((int)REPORT_VALUE_ENTRY_VALUE == (int)SYM_VALUE_ENTRY_VALUE, "availability");
_Static_assert((int)REPORT_VALUE_PARTIAL == (int)SYM_VALUE_PARTIAL, "availability");
_Static_assert((int)REPORT_VALUE_OPTIMIZED_OUT == (int)SYM_VALUE_OPTIMIZED_OUT, "availability");
_Static_assert((int)REPORT_VALUE_REGISTER_NOT_RECOVERABLE ==
                   (int)SYM_VALUE_REGISTER_NOT_RECOVERABLE,
               "availability");
_Static_assert((int)REPORT_VALUE_MEMORY_NOT_CAPTURED == (int)SYM_VALUE_MEMORY_NOT_CAPTURED,
               "availability");
_Static_assert((int)REPORT_VALUE_UNSUPPORTED == (int)SYM_VALUE_UNSUPPORTED, "availability");
_Static_assert((int)REPORT_VALUE_NO_DEBUG_INFO == (int)SYM_VALUE_NO_DEBUG_INFO, "availability");
_Static_assert((int)REPORT_VALUE_REDACTED == (int)SYM_VALUE_REDACTED, "availability");
_Static_assert((int)REPORT_VALUE_LIMIT == (int)SYM_VALUE_LIMIT, "availability");
_Static_assert((int)REPORT_VARIABLE_PARAM == (int)SYM_VARIABLE_PARAM, "kind");
_Static_assert((int)REPORT_VARIABLE_LOCAL == (int)SYM_VARIABLE_LOCAL, "kind");
_Static_assert((int)REPORT_VARIABLE_GLOBAL == (int)SYM_VARIABLE_GLOBAL, "kind");
_Static_assert((int)REPORT_VARIABLE_THIS == (int)SYM_VARIABLE_THIS, "kind");

struct values {
    struct report *report;
    struct resolve_stacks *stacks;
    const struct resolve_options *options;
    struct fz_arena *arena; /* of the report */
    struct fz_arena scratch;
    struct sym_variables *variables;
    size_t room;        /* bytes of JSON that are left */
    int64_t end_ms;     /* CPU time of the process at which the time is over */
    size_t n_cut;       /* variables that are left out */
    bool is_over;       /* the time, or the scratch memory */
    const char *image;  /* whose variables are copied; NULL = unknown */
    bool *has_no_types; /* per image: its dSYM describes no variables */
};

static int64_t
cpu_ms(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool
copy_text(struct values *v, const char *from, const char **to)
{
    *to = NULL;
    if (!from)
        return true;
    *to = fz_text_clean_utf8(v->arena, fz_span_cstr(from));
    return *to != NULL;
}

static size_t
text_bytes(const char *text)
{
    return text ? strlen(text) : 0;
}

/* The bytes of a variable with its fields in JSON, about. */
static size_t
bytes_of(const struct sym_variable *variable, unsigned depth)
{
    size_t n = VARIABLE_BYTES + text_bytes(variable->name) + text_bytes(variable->type) +
               text_bytes(variable->value) + text_bytes(variable->location);
    for (size_t i = 0; depth < REPORT_VARIABLE_DEPTH_MAX && i < variable->n_fields; i++)
        n += bytes_of(&variable->fields[i], depth + 1);
    return n;
}

static bool
copy_variable(struct values *v, const struct sym_variable *from, struct report_variable *to,
              unsigned depth)
{
    *to = (struct report_variable){.kind = (enum report_variable_kind)from->kind,
                                   .availability = (enum report_availability)from->availability,
                                   .maybe_stale = from->maybe_stale,
                                   .has_address = from->has_address,
                                   .address = from->address,
                                   .n_fields_cut = from->n_fields_cut};
    if (!copy_text(v, from->name, &to->name) || !copy_text(v, from->type, &to->type) ||
        !copy_text(v, from->value, &to->value) || !copy_text(v, from->location, &to->location))
        return false;
    if (depth >= REPORT_VARIABLE_DEPTH_MAX) {
        to->n_fields_cut += from->n_fields;
        return true;
    }
    to->fields = fz_arena_array(v->arena, from->n_fields, sizeof(*to->fields));
    if (!to->fields)
        return false;
    for (to->n_fields = 0; to->n_fields < from->n_fields; to->n_fields++) {
        if (!copy_variable(v, &from->fields[to->n_fields], &to->fields[to->n_fields], depth + 1))
            return false;
    }
    return true;
}

static bool
copy_scope(struct values *v, const struct sym_scope *scope, struct report_symbol *symbol)
{
    symbol->availability = (enum report_availability)scope->availability;
    symbol->n_variables_cut = scope->n_cut;
    symbol->variables = fz_arena_array(v->arena, scope->n, sizeof(*symbol->variables));
    if (!symbol->variables)
        return false;
    for (size_t i = 0; i < scope->n; i++) {
        size_t n = bytes_of(&scope->variables[i], 0);
        /* The later ones may be smaller and fit. */
        if (n > v->room) {
            symbol->n_variables_cut++;
            v->n_cut++;
            continue;
        }
        v->room -= n;
        if (!copy_variable(v, &scope->variables[i], &symbol->variables[symbol->n_variables], 0))
            return false;
        symbol->n_variables++;
    }
    if (v->options->redact)
        resolve_redact(symbol->variables, symbol->n_variables, v->options->redact, symbol->function,
                       v->image);
    return true;
}

/* The names agree if one is the other, with or without Mach-O's underscore. */
static bool
is_name_of(const char *name, const struct report_symbol *symbol)
{
    const char *own[] = {symbol->mangled, symbol->function};
    for (size_t i = 0; i < FZ_ARRAY_LEN(own); i++) {
        if (own[i] &&
            (strcmp(own[i], name) == 0 || (own[i][0] == '_' && strcmp(own[i] + 1, name) == 0)))
            return true;
    }
    return false;
}

/* Both lists come from one tree of inlined calls, the symbols through the index. Where the index
 * has cut a deep one, or came from another file, only the calls whose names agree are matched. */
static bool
match_scopes(struct values *v, const struct sym_scope *scopes, size_t n, struct report_frame *frame)
{
    for (size_t i = 0; i < n && i < frame->n_symbols; i++) {
        const struct sym_scope *scope = &scopes[n - 1 - i];
        struct report_symbol *symbol = &frame->symbols[frame->n_symbols - 1 - i];
        if (scope->inlined != symbol->inlined)
            break;
        if (n != frame->n_symbols && scope->function && !is_name_of(scope->function, symbol))
            break;
        if (!copy_scope(v, scope, symbol))
            return false;
    }
    return true;
}

/* Once for an image, since it would be the same at each of its frames. */
static void
note_no_types(struct values *v, int image, const struct sym_scope *scopes, size_t n)
{
    if (image < 0 || n == 0 || scopes[n - 1].availability != SYM_VALUE_NO_DEBUG_INFO ||
        v->has_no_types[image])
        return;
    v->has_no_types[image] = true;
    const char *name = v->report->images[image].name;
    report_note(v->report, v->arena,
                "variables: the dSYM of %s has names and lines, but does not describe variables",
                name ? name : "an image");
}

static enum fz_code
add_to_frame(struct values *v, const struct resolve_stack *stack, int link,
             struct report_frame *frame, struct fz_error *err)
{
    struct sym_scope *scopes = NULL;
    size_t n = 0;
    enum fz_code code =
        sym_variables_at(v->variables, &stack->chain, (size_t)link, &scopes, &n, NULL);
    /* Its only failures are those of the scratch memory, which ends the variables of the report. */
    if (code != FZ_OK) {
        v->is_over = true;
        return FZ_OK;
    }
    note_no_types(v, frame->image, scopes, n);
    v->image = frame->image >= 0 ? v->report->images[frame->image].name : NULL;
    return match_scopes(v, scopes, n, frame) ? FZ_OK : fz_arena_fail(v->arena, err);
}

static enum fz_code
add_to_thread(struct values *v, size_t number, struct fz_error *err)
{
    struct report_thread *thread = &v->report->threads[number];
    const struct resolve_stack *stack = &v->stacks->threads[number];
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && stack->chain.n > 0 && i < thread->n_frames; i++) {
        if (v->is_over || v->room < VARIABLE_BYTES)
            break;
        if (stack->links[i] >= 0 && thread->frames[i].n_symbols > 0)
            code = add_to_frame(v, stack, stack->links[i], &thread->frames[i], err);
        v->is_over = v->is_over || cpu_ms() > v->end_ms;
    }
    return code;
}

static void
note_limits(struct values *v)
{
    if (v->is_over)
        report_note(
            v->report, v->arena,
            "variables: reading them all would take too much time or memory, the rest is left "
            "out");
    else if (v->n_cut > 0 || v->room < VARIABLE_BYTES)
        report_note(v->report, v->arena,
                    "variables: those of one report have at most %d bytes, the rest is left out",
                    RESOLVE_VALUES_BYTES);
}

static enum fz_code
add_all(struct values *v, struct fz_error *err)
{
    const struct report_thread *crashed = report_crashed_thread(v->report);
    enum fz_code code =
        crashed ? add_to_thread(v, (size_t)(crashed - v->report->threads), err) : FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < v->report->n_threads; i++) {
        if (&v->report->threads[i] != crashed)
            code = add_to_thread(v, i, err);
    }
    note_limits(v);
    return code;
}

enum fz_code
resolve_values_add(struct report *report, struct resolve_stacks *stacks,
                   const struct resolve_options *options, struct fz_arena *arena,
                   struct fz_error *err)
{
    struct values v = {.report = report,
                       .stacks = stacks,
                       .options = options,
                       .arena = arena,
                       .scratch = fz_arena_make(SCRATCH_BYTES),
                       .room = RESOLVE_VALUES_BYTES,
                       .end_ms = cpu_ms() + RESOLVE_VALUES_CPU_MS};
    if (!stacks->process)
        return FZ_OK;
    v.has_no_types = fz_arena_array(arena, report->n_images, sizeof(*v.has_no_types));
    if (!v.has_no_types)
        return fz_arena_fail(arena, err);
    enum fz_code code = FZ_OK;
    if (sym_variables_create(stacks->process, NULL, &v.scratch, &v.variables, NULL) == FZ_OK)
        code = add_all(&v, err);
    sym_variables_destroy(v.variables);
    fz_arena_deinit(&v.scratch);
    return code;
}
