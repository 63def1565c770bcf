/*
 * Names of types.
 *
 * A declarator is built from the outside in: each pointer, array and function wraps what it has so
 * far, and the type at the end of the chain comes before it. "pointer to array of 4 int" is "*",
 * then "(*)[4]", then "int (*)[4]".
 */
#include "symbolicator/variables/type_name.h"

#include <stdio.h>

#include "symbolicator/variables/container.h"

enum { DECLARATOR_MAX = 512, NESTING_MAX = 6 };

/* What a chain of types has been wrapped in so far. */
struct declarator {
    char text[DECLARATOR_MAX];
    size_t at, len; /* of the text; it grows to both sides from the middle */
};

static void
prepend(struct declarator *declarator, const char *text)
{
    size_t len = strlen(text);
    if (len > declarator->at)
        return;
    declarator->at -= len;
    declarator->len += len;
    memcpy(declarator->text + declarator->at, text, len);
}

static void
append(struct declarator *declarator, const char *text, size_t len)
{
    if (len > DECLARATOR_MAX - declarator->at - declarator->len)
        return;
    memcpy(declarator->text + declarator->at + declarator->len, text, len);
    declarator->len += len;
}

static void name_at(struct variables_image *image, uint64_t offset, unsigned depth,
                    struct fz_buffer *out);

static uint64_t
type_of(const struct variables_die *die)
{
    struct variables_die type;
    return variables_die_ref(die, AT_TYPE, &type) ? type.offset : UINT64_MAX;
}

/* The parameters of a function type: "(int, char *)". */
static void
append_parameters(struct declarator *declarator, const struct variables_die *function,
                  unsigned depth)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(VARIABLES_TEXT_MAX);
    struct variables_die at;
    unsigned n = 0;
    fz_buffer_char(&text, '(');
    for (bool more = variables_die_child(function, &at); more;
         more = variables_die_next(&at, &at)) {
        unsigned tag = variables_die_tag(&at);
        bool is_rest = tag == TAG_UNSPECIFIED_PARAMETERS;
        if (!is_rest && (tag != TAG_FORMAL_PARAMETER || variables_die_flag(&at, AT_ARTIFICIAL)))
            continue;
        fz_buffer_text(&text, n++ ? ", " : "");
        if (is_rest)
            fz_buffer_text(&text, "...");
        else
            name_at(function->image, type_of(&at), depth + 1, &text);
    }
    if (n == 0 && variables_unit_is_c(variables_image_unit(function->image, function->unit)))
        fz_buffer_text(&text, "void");
    fz_buffer_char(&text, ')');
    append(declarator, fz_buffer_cstr(&text), text.len);
}

bool
variables_type_bound(const struct variables_die *range, uint64_t *ret)
{
    uint64_t lower = 0;
    struct variables_attr attr;
    int64_t upper;
    if (variables_die_uint(range, AT_COUNT, ret))
        return true;
    variables_die_uint(range, AT_LOWER_BOUND, &lower);
    /* An upper bound of -1 is how old compilers wrote an array without one. */
    if (!variables_die_attr(range, AT_UPPER_BOUND, &attr) || !variables_attr_int(&attr, &upper))
        return false;
    /* DW_FORM_data1 255 may be 255 or -1: only the wide forms and sdata are clear. */
    if (attr.value.form == FORM_DATA1 || attr.value.form == FORM_DATA2)
        upper = (int64_t)attr.value.number;
    if (attr.value.form == FORM_DATA4 && attr.value.number != UINT32_MAX)
        upper = (int64_t)attr.value.number;
    if (upper < 0 || lower > (uint64_t)upper)
        return false;
    *ret = (uint64_t)upper - lower + 1;
    return true;
}

static void
append_bounds(struct declarator *declarator, const struct variables_die *array)
{
    struct variables_die at;
    for (bool more = variables_die_child(array, &at); more; more = variables_die_next(&at, &at)) {
        char text[32];
        uint64_t count;
        if (variables_die_tag(&at) != TAG_SUBRANGE_TYPE)
            continue;
        if (variables_type_bound(&at, &count))
            snprintf(text, sizeof(text), "[%llu]", (unsigned long long)count);
        else
            snprintf(text, sizeof(text), "[]");
        append(declarator, text, strlen(text));
    }
}

/* "(*)" before what binds tighter than a pointer. */
static void
wrap(struct declarator *declarator)
{
    char first = declarator->len ? declarator->text[declarator->at] : '[';
    if (first != '[' && first != '(' && first != ' ') {
        prepend(declarator, "(");
        append(declarator, ")", 1);
    }
}

static const char *
keyword(const struct variables_die *die)
{
    if (!variables_unit_is_c(variables_image_unit(die->image, die->unit)))
        return "";
    switch (variables_die_tag(die)) {
    case TAG_STRUCTURE_TYPE:
        return variables_die_flag(die, AT_APPLE_RUNTIME_CLASS) ? "" : "struct ";
    case TAG_UNION_TYPE:
        return "union ";
    case TAG_ENUMERATION_TYPE:
        return "enum ";
    default:
        return "";
    }
}

static const char *
anonymous(const struct variables_die *die)
{
    struct variables_die at;
    switch (variables_die_tag(die)) {
    case TAG_STRUCTURE_TYPE:
    case TAG_CLASS_TYPE:
        for (bool more = variables_die_child(die, &at); more; more = variables_die_next(&at, &at)) {
            if (variables_die_tag(&at) == TAG_SUBPROGRAM &&
                fz_span_is(variables_die_string(&at, AT_NAME), "operator()"))
                return "(lambda)";
        }
        return variables_die_tag(die) == TAG_CLASS_TYPE ? "(anonymous class)"
                                                        : "(anonymous struct)";
    case TAG_UNION_TYPE:
        return "(anonymous union)";
    case TAG_ENUMERATION_TYPE:
        return "(anonymous enum)";
    case TAG_UNSPECIFIED_TYPE:
        return "void";
    default:
        return "(unknown type)";
    }
}

/* The mangled name of a Swift type: its own, or that of the only member of a structure that is there
 * to give a type of another module its size. */
struct fz_span
variables_type_mangled(const struct variables_die *die)
{
    struct variables_die at, inner;
    struct fz_span name = variables_die_string_deep(die, AT_LINKAGE_NAME);
    if (name.len == 0)
        name = variables_die_string_deep(die, AT_NAME);
    if (name.len == 0 && variables_die_child(die, &at) && variables_die_tag(&at) == TAG_MEMBER &&
        variables_die_string(&at, AT_NAME).len == 0 && variables_die_ref(&at, AT_TYPE, &inner)) {
        name = variables_die_string_deep(&inner, AT_LINKAGE_NAME);
        name = name.len ? name : variables_die_string_deep(&inner, AT_NAME);
    }
    bool is_mangled = fz_span_begins(name, "$s") || fz_span_begins(name, "$S");
    return is_mangled ? name : fz_span_make(NULL, 0);
}

/* A Swift type as Swift writes it. False: it has no mangled name. */
static bool
append_swift(const struct variables_die *die, struct fz_buffer *out)
{
    static const struct sym_demangle_options options = {.simplified = true};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer mangled = fz_buffer_make(VARIABLES_TEXT_MAX);
    if (!variables_unit_is_swift(variables_image_unit(die->image, die->unit)))
        return false;
    struct fz_span name = variables_type_mangled(die);
    if (name.len == 0)
        return false;
    fz_buffer_append(&mangled, name.data, name.len);
    sym_demangle(fz_buffer_cstr(&mangled), false, &options, out);
    return true;
}

/* The type at the end of the chain. */
static void
append_base(const struct variables_die *die, struct fz_buffer *out)
{
    struct fz_span name = variables_die_string_deep(die, AT_NAME);
    if (append_swift(die, out))
        return;
    if (name.len == 0) {
        fz_buffer_text(out, anonymous(die));
        return;
    }
    fz_buffer_text(out, keyword(die));
    if (variables_die_tag(die) != TAG_BASE_TYPE)
        variables_container_append(die, out);
    fz_buffer_append(out, name.data, name.len);
}

/* Wrap what is declared in one more type; false at the end of the chain. */
static bool
step(const struct variables_die *die, struct declarator *declarator, unsigned depth)
{
    const char *prefix = NULL;
    switch (variables_die_tag(die)) {
    case TAG_POINTER_TYPE:
        prefix = "*";
        break;
    case TAG_REFERENCE_TYPE:
        prefix = "&";
        break;
    case TAG_RVALUE_REFERENCE_TYPE:
        prefix = "&&";
        break;
    case TAG_ARRAY_TYPE:
        wrap(declarator);
        append_bounds(declarator, die);
        return true;
    case TAG_SUBROUTINE_TYPE:
        wrap(declarator);
        if (declarator->len == 0)
            append(declarator, " ", 1);
        append_parameters(declarator, die, depth);
        return true;
    default:
        return false;
    }
    prepend(declarator, prefix);
    return true;
}

static const char *
qualifier_of(unsigned tag)
{
    switch (tag) {
    case TAG_CONST_TYPE:
        return "const";
    case TAG_VOLATILE_TYPE:
        return "volatile";
    case TAG_RESTRICT_TYPE:
        return "restrict";
    case TAG_ATOMIC_TYPE:
        return "_Atomic";
    default:
        return NULL;
    }
}

static bool
is_pointer_like(unsigned tag)
{
    return tag == TAG_POINTER_TYPE || tag == TAG_REFERENCE_TYPE ||
           tag == TAG_RVALUE_REFERENCE_TYPE || tag == TAG_PTR_TO_MEMBER_TYPE;
}

/* Member pointers: "int Item::*". */
static void
prepend_member(struct declarator *declarator, const struct variables_die *die, unsigned depth)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(VARIABLES_TEXT_MAX);
    struct variables_die container;
    if (variables_die_ref(die, AT_CONTAINING_TYPE, &container))
        name_at(die->image, container.offset, depth + 1, &text);
    fz_buffer_text(&text, "::*");
    prepend(declarator, fz_buffer_cstr(&text));
}

/* Qualifiers of a type: after the star of a pointer, before the name of any other type. */
struct qualifiers {
    char text[64];
};

static void
add_qualifier(struct qualifiers *qualifiers, const char *word)
{
    size_t len = strlen(qualifiers->text);
    if (len + strlen(word) + 2 < sizeof(qualifiers->text))
        snprintf(qualifiers->text + len, sizeof(qualifiers->text) - len, "%s%s", len ? " " : "",
                 word);
}

static void
finish(const char *qualifiers, const struct variables_die *die, const struct declarator *declarator,
       struct fz_buffer *out)
{
    /* What Swift binds with "let" is not const by type. */
    bool is_swift = die && variables_unit_is_swift(variables_image_unit(die->image, die->unit));
    if (qualifiers[0] && !is_swift)
        fz_buffer_printf(out, "%s ", qualifiers);
    if (die)
        append_base(die, out);
    else
        fz_buffer_text(out, "void");
    if (declarator->len == 0)
        return;
    char first = declarator->text[declarator->at];
    if (first != '[' && first != ' ')
        fz_buffer_char(out, ' ');
    fz_buffer_append(out, declarator->text + declarator->at, declarator->len);
}

static void
name_at(struct variables_image *image, uint64_t offset, unsigned depth, struct fz_buffer *out)
{
    struct declarator declarator = {.at = DECLARATOR_MAX / 2};
    struct qualifiers qualifiers = {{0}};
    struct variables_die die;
    for (unsigned n = 0;; n++) {
        const char *word;
        if (offset == UINT64_MAX) {
            finish(qualifiers.text, NULL, &declarator, out);
            return;
        }
        if (n == VARIABLES_TYPE_CHAIN_MAX || depth > NESTING_MAX ||
            !variables_die_at(image, offset, &die)) {
            fz_buffer_text(out, "(unknown type)");
            return;
        }
        unsigned tag = variables_die_tag(&die);
        word = qualifier_of(tag);
        if (word) {
            add_qualifier(&qualifiers, word);
            offset = type_of(&die);
            continue;
        }
        if (is_pointer_like(tag) && qualifiers.text[0]) {
            if (declarator.len && declarator.text[declarator.at] != '[')
                prepend(&declarator, " ");
            prepend(&declarator, qualifiers.text);
            qualifiers.text[0] = '\0';
        }
        if (tag == TAG_PTR_TO_MEMBER_TYPE) {
            prepend_member(&declarator, &die, depth);
        } else if (tag != TAG_APPLE_PTRAUTH_TYPE && tag != TAG_PACKED_TYPE &&
                   tag != TAG_IMMUTABLE_TYPE) {
            if (!step(&die, &declarator, depth)) {
                finish(qualifiers.text, &die, &declarator, out);
                return;
            }
        }
        offset = type_of(&die);
    }
}

void
variables_type_name(struct variables_image *image, uint64_t offset, struct fz_buffer *out)
{
    name_at(image, offset, 0, out);
}
