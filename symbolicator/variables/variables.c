/*
 * The variables of a frame: its scopes, and each variable's name, type, place and value.
 */
#include "symbolicator/variables/variables.h"

#include <stdlib.h>

#include "symbolicator/variables/escape.h"
#include "symbolicator/variables/frame.h"
#include "symbolicator/variables/globals.h"
#include "symbolicator/variables/locate.h"
#include "symbolicator/variables/place.h"
#include "symbolicator/variables/scope.h"
#include "symbolicator/variables/value.h"

enum {
    POINTER_DEPTH = 1,
    POINTER_DEPTH_MAX = 3,
    VALUE_DEPTH = 8,
    MEMBERS = 64,
    ELEMENTS = 16,
    STRING_BYTES = 128,
    PER_FRAME = 256,
    STEPS = 2 * 1000 * 1000,
    CACHE_CAP = 64 * 1024 * 1024,
    OPEN_CAP = 256 * 1024 * 1024,
};

static unsigned
or_default(unsigned value, unsigned other)
{
    return value ? value : other;
}

enum fz_code
sym_variables_create(struct sym_process *process, const struct sym_variables_limits *limits,
                     struct fz_arena *arena, struct sym_variables **ret, struct fz_error *err)
{
    static const struct sym_variables_limits none = {0};
    struct sym_variables *variables = calloc(1, sizeof(*variables));
    if (!variables)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    limits = limits ? limits : &none;
    unsigned pointers = or_default(limits->pointer_depth, POINTER_DEPTH);
    variables->process = process;
    variables->arena = arena;
    variables->limits = (struct sym_variables_limits){
        .pointer_depth = pointers > POINTER_DEPTH_MAX ? POINTER_DEPTH_MAX : pointers,
        .value_depth = or_default(limits->value_depth, VALUE_DEPTH),
        .members = or_default(limits->members, MEMBERS),
        .elements = or_default(limits->elements, ELEMENTS),
        .string_bytes = or_default(limits->string_bytes, STRING_BYTES),
        .per_frame = or_default(limits->per_frame, PER_FRAME),
        .steps = limits->steps ? limits->steps : STEPS,
    };
    variables->steps_left = variables->limits.steps;
    variables->definition_dies_left = VARIABLES_DEFINITION_DIES_MAX;
    variables->budget.cap = OPEN_CAP;
    variables->entry = variables_frame_entry;
    variables->fill = variables_value_fill;
    fz_arena_init(&variables->cache, CACHE_CAP);
    *ret = variables;
    return FZ_OK;
}

void
sym_variables_destroy(struct sym_variables *variables)
{
    if (!variables)
        return;
    for (size_t i = 0; i < variables->n_images; i++)
        variables_image_close(variables->images[i]);
    free(variables->images);
    fz_arena_deinit(&variables->cache);
    free(variables);
}

/* An object pointer is artificial in C++ and Objective-C, but a parameter of a block may have the
 * name too. */
static bool
is_this(const struct variables_die *die, struct fz_span name)
{
    return (fz_span_is(name, "this") || fz_span_is(name, "self")) &&
           variables_die_flag(die, AT_ARTIFICIAL);
}

/* Without optimisation a variable is in its place in memory from the first instruction on, but has
 * no value before its declaration has run. */
static bool
is_not_reached(const struct variables_frame *frame, const struct variables_scope *scope,
               const struct variables_scope_item *item)
{
    uint64_t line = 0, file = 0, scope_file = 0;
    if (item->is_param || frame->is_optimized || scope->line == 0 ||
        !variables_die_uint(&item->die, AT_DECL_LINE, &line))
        return false;
    variables_die_uint(&item->die, AT_DECL_FILE, &file);
    variables_die_uint(&scope->die, AT_DECL_FILE, &scope_file);
    return file == scope_file && line >= scope->line;
}

static void
fill_variable(struct variables_frame *frame, const struct variables_scope *scope,
              const struct variables_scope_item *item, struct sym_variable *out)
{
    struct variables_value value = {.variables = frame->variables, .frame = frame};
    struct fz_span name = variables_die_string_deep(&item->die, AT_NAME);
    const struct variables_type *type = variables_type_of(&item->die);
    uint64_t addr;
    bool is_static = variables_locate_static(&item->die, &addr);
    value.kind = is_this(&item->die, name) ? SYM_VARIABLE_THIS
                 : item->is_param          ? SYM_VARIABLE_PARAM
                 : is_static               ? SYM_VARIABLE_GLOBAL
                                           : SYM_VARIABLE_LOCAL;
    *out = (struct sym_variable){
        .name = variables_text(frame->variables, name), .type = type->name, .kind = value.kind};
    struct variables_place place =
        variables_locate(frame, &item->die, variables_type_complete(type)->size);
    /* The prologue has not put anything into its place yet. */
    if (frame->is_early && !is_static && place.is_memory)
        place = variables_place_none(SYM_VALUE_REGISTER_NOT_RECOVERABLE);
    variables_value_fill(&value, type, &place, out);
    out->location = place.text;
    if (place.is_entry && out->availability == SYM_VALUE_AVAILABLE)
        out->availability = SYM_VALUE_ENTRY_VALUE;
    bool has_value = out->availability <= SYM_VALUE_PARTIAL;
    out->maybe_stale = has_value && ((place.is_stale && !is_static) ||
                                     (!is_static && is_not_reached(frame, scope, item)));
    variables_escape_note(frame, variables_type_complete(type), &place, out);
}

/* Nothing but line tables: such a function has not even a frame base. */
static bool
has_debug_info(const struct variables_frame *frame, const struct variables_scope *scope)
{
    struct variables_attr attr;
    return scope->n > 0 || variables_die_attr_deep(&frame->function, AT_FRAME_BASE, &attr, NULL);
}

static const char *
function_name(struct sym_variables *variables, const struct variables_die *die)
{
    static const unsigned names[] = {AT_LINKAGE_NAME, AT_MIPS_LINKAGE_NAME, AT_NAME};
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        struct fz_span name = variables_die_string_deep(die, names[i]);
        if (name.len)
            return variables_text(variables, name);
    }
    return NULL;
}

static bool
fill_scope(struct variables_frame *frame, const struct variables_scope *scope, bool is_inlined,
           struct sym_scope *out)
{
    struct sym_variables *variables = frame->variables;
    struct variables_globals globals = {0};
    if (!is_inlined)
        variables_globals_find(frame, &globals);
    *out = (struct sym_scope){.function = function_name(variables, &scope->die),
                              .inlined = is_inlined,
                              .n_cut = scope->n_cut};
    if (!has_debug_info(frame, scope))
        out->availability = SYM_VALUE_NO_DEBUG_INFO;
    out->variables =
        fz_arena_array(variables->arena, scope->n + globals.n, sizeof(*out->variables));
    if (!out->variables)
        return false;
    for (size_t i = 0; i < scope->n; i++)
        fill_variable(frame, scope, &scope->items[i], &out->variables[out->n++]);
    for (size_t i = 0; i < globals.n; i++) {
        struct variables_scope_item item = {.die = globals.list[i]};
        fill_variable(frame, scope, &item, &out->variables[out->n++]);
    }
    if (variables->steps_left == 0 || variables->dies_left == 0)
        out->availability = SYM_VALUE_LIMIT;
    return true;
}

enum fz_code
sym_variables_at(struct sym_variables *variables, const struct sym_unwind_chain *chain, size_t i,
                 struct sym_scope **ret, size_t *ret_n, struct fz_error *err)
{
    struct variables_frame frame;
    struct variables_scope scopes[VARIABLES_SCOPES_MAX];
    bool is_cut = false;
    variables->dies_left = VARIABLES_DIES_MAX;
    variables->ranges_left = VARIABLES_RANGES_MAX;
    variables->no_memory = false;
    size_t n = variables_frame_make(variables, chain, i, &frame)
                   ? variables_scopes(&frame, scopes, &is_cut)
                   : 0;
    struct sym_scope *list = fz_arena_array(variables->arena, n, sizeof(*list));
    if (!list)
        return fz_arena_fail(variables->arena, err);
    for (size_t k = 0; k < n; k++) {
        if (!fill_scope(&frame, &scopes[k], k + 1 < n, &list[k]))
            variables->no_memory = true;
    }
    variables_escape_mark(&frame);
    /* The scopes that were left out are inside of the innermost one. */
    if (is_cut && n)
        list[0].availability = SYM_VALUE_LIMIT;
    if (variables->no_memory)
        return variables->arena->over_cap || variables->cache.over_cap
                   ? fz_fail(err, FZ_E_LIMIT, "the variables need more memory than they may have")
                   : fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    *ret = list;
    *ret_n = n;
    return FZ_OK;
}
