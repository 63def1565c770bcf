/*
 * Swift names: selects the mangling, and limits both.
 *
 *   $s _$s   Swift 5 and later     $S _$S   4.2     _T0   4.0     $e _$e   embedded
 *   @__swiftmacro_                 files of macro expansions
 *   async_Main                     the parts of an async main function
 *   _T       Swift 1 to 3; "_Tt..." is still used in the metadata of Objective-C
 */
#include "symbolicator/demangle/language.h"

#include "base/text.h"
#include "symbolicator/demangle/swift/declare.h"
#include "symbolicator/demangle/swift/parse.h"
#include "symbolicator/demangle/swift/print.h"

enum {
    ARENA_MAX = 24 << 20, /* larger trees are not real names */
    STEPS_MAX = 200000,   /* nodes printed: a few substitutions can repeat any number of them */
    NESTED_MAX = 4,
};

static struct sym_swift_node *
parse(struct fz_span name, struct fz_arena *arena)
{
    static const struct {
        const char *text;
        enum sym_swift_flavor flavor;
    } prefixes[] = {
        /* "_T0" begins with the prefix of Swift 1 to 3, which is therefore tried last. */
        {"_T0", SWIFT_LABELS_IN_TYPES}, {"$S", SWIFT_CURRENT},
        {"_$S", SWIFT_CURRENT},         {"$s", SWIFT_CURRENT},
        {"_$s", SWIFT_CURRENT},         {"$e", SWIFT_CURRENT},
        {"_$e", SWIFT_CURRENT},         {"@__swiftmacro_", SWIFT_CURRENT},
        {"async_Main", SWIFT_MAIN},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(prefixes); i++) {
        size_t len = strlen(prefixes[i].text);
        if (name.len >= len && memcmp(name.data, prefixes[i].text, len) == 0)
            return sym_swift_parse(fz_span_make(name.data + len, name.len - len),
                                   prefixes[i].flavor, arena);
    }
    return sym_swift_parse_old(name, arena);
}

static bool
print_symbol(struct fz_span name, struct sym_swift_printer *p)
{
    /* Specializations contain names, which may be of specializations again. */
    struct sym_swift_node *symbol = p->nested <= NESTED_MAX ? parse(name, p->arena) : NULL;
    size_t before = p->out->len;
    if (!symbol)
        return false;
    sym_swift_print(p, symbol);
    /* An empty text would hide the frame: the mangled name is of more use. */
    return !p->failed && !p->out->failed && p->out->len > before;
}

/* Names in a binary's metadata refer to other parts of it: a byte of 0x01 to 0x1f, then 4 or 8
 * bytes with the distance. Without the binary they cannot be resolved. After a dot comes a suffix,
 * where such bytes are text. */
static bool
has_symbolic_reference(const char *name)
{
    for (; *name && *name != '.'; name++) {
        if ((unsigned char)*name < 0x20)
            return true;
    }
    return false;
}

bool
sym_demangle_swift(const char *name, const struct sym_demangle_options *options,
                   struct fz_buffer *out)
{
    size_t steps = STEPS_MAX;
    if (has_symbolic_reference(name))
        return false;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_MAX);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(DEMANGLE_TEXT_MAX);
    struct sym_swift_printer printer = {
        .kinds = sym_swift_kinds(),
        .print_entity = sym_swift_print_entity,
        .print_symbol = print_symbol,
        .out = &text,
        .arena = &arena,
        .simplified = options->simplified,
        .sugar = true,
        .show_where = !options->simplified,
        .steps = &steps,
    };
    /* into a buffer of its own, because a failure can follow printed text */
    bool done =
        print_symbol(fz_span_cstr(name), &printer) && fz_text_is_utf8(fz_buffer_span(&text));
    if (done)
        fz_buffer_append(out, text.data, text.len);
    return done;
}

bool
sym_declare_swift(const char *name, struct sym_declared *to)
{
    static const struct sym_demangle_options readable = {.simplified = true};
    if (has_symbolic_reference(name))
        return false;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_MAX);
    struct sym_swift_node *symbol = parse(fz_span_cstr(name), &arena);
    to->language = SYM_SWIFT;
    if (symbol && sym_swift_declare(symbol, parse, &arena, to) &&
        fz_text_is_utf8(fz_buffer_span(&to->name)))
        return true;
    sym_declared_clear(to);
    to->is_real = false;
    return symbol && sym_demangle_swift(name, &readable, &to->name);
}
