/*
 * Substitutions: "A" for earlier parts of the name, "S" for types of the standard library.
 *
 *   AB    the second earlier part                AaC   the first, then the third
 *   A2b   the second twice, more follow          A4_   the 32nd
 *   Si    Swift.Int     S2i  two of them         Sg    Optional of the type on the stack
 *   ScA   Swift.Actor   So   module __C          s     module Swift
 */
#include "symbolicator/demangle/swift/parse.h"

/* By letter: s structure, e enum, p protocol, c class, then the name. */
static const char *const upper[26] = {
    "sAutoreleasingUnsafeMutablePointer",
    "pBinaryFloatingPoint",
    NULL,
    "sDictionary",
    "pEncodable",
    "pFloatingPoint",
    "pRandomNumberGenerator",
    "pHashable",
    "sDefaultIndices",
    "sCharacter",
    "pBidirectionalCollection",
    "pComparable",
    "pMutableCollection",
    "sClosedRange",
    "sObjectIdentifier",
    "sUnsafePointer",
    "pEquatable",
    "sUnsafeBufferPointer",
    "sString",
    "pSequence",
    "pUnsignedInteger",
    "sUnsafeRawPointer",
    "sUnsafeRawBufferPointer",
    "pRangeExpression",
    "pRawRepresentable",
    "pSignedInteger",
};

static const char *const lower[26] = {
    "sArray",
    "sBool",
    NULL,
    "sDouble",
    "pDecodable",
    "sFloat",
    NULL,
    "sSet",
    "sInt",
    "pNumeric",
    "pRandomAccessCollection",
    "pCollection",
    "pRangeReplaceableCollection",
    "sRange",
    NULL,
    "sUnsafeMutablePointer",
    "eOptional",
    "sUnsafeMutableBufferPointer",
    "sSubstring",
    "pIteratorProtocol",
    "sUInt",
    "sUnsafeMutableRawPointer",
    "sUnsafeMutableRawBufferPointer",
    "pStrideable",
    "pStringProtocol",
    "pBinaryInteger",
};

static const struct sym_swift_word concurrency[] = {
    {'A', "pActor"},
    {'C', "sCheckedContinuation"},
    {'c', "sUnsafeContinuation"},
    {'E', "sCancellationError"},
    {'e', "sUnownedSerialExecutor"},
    {'F', "pExecutor"},
    {'f', "pSerialExecutor"},
    {'G', "sTaskGroup"},
    {'g', "sThrowingTaskGroup"},
    {'h', "pTaskExecutor"},
    {'I', "pAsyncIteratorProtocol"},
    {'i', "pAsyncSequence"},
    {'J', "sUnownedJob"},
    {'M', "cMainActor"},
    {'P', "sTaskPriority"},
    {'S', "sAsyncStream"},
    {'s', "sAsyncThrowingStream"},
    {'T', "sTask"},
    {'t', "sUnsafeCurrentTask"},
    {'\0', NULL},
};

struct sym_swift_node *
sym_swift_swift_type(struct sym_swift_parser *p, enum sym_swift_kind kind, const char *name)
{
    return sym_swift_node_type(sym_swift_make2(p, kind,
                                               sym_swift_make_text(p, SWIFT_MODULE, "Swift"),
                                               sym_swift_make_text(p, SWIFT_IDENTIFIER, name)));
}

static struct sym_swift_node *
standard_type(struct sym_swift_parser *p, bool of_concurrency)
{
    char c = sym_swift_peek(p);
    const char *type = NULL;
    if (of_concurrency) {
        type = sym_swift_next_word(p, concurrency);
    } else if (c >= 'a' && c <= 'z') {
        type = lower[sym_swift_next(p) - 'a'];
    } else if (c >= 'A' && c <= 'Z') {
        type = upper[sym_swift_next(p) - 'A'];
    }
    if (!type)
        return NULL;
    /* The kind decides about sugar: only the standard structure Array is printed as [T]. */
    enum sym_swift_kind kind = type[0] == 's'   ? SWIFT_STRUCT
                               : type[0] == 'e' ? SWIFT_ENUM
                               : type[0] == 'p' ? SWIFT_PROTOCOL
                                                : SWIFT_CLASS;
    return sym_swift_swift_type(p, kind, type + 1);
}

static struct sym_swift_node *
optional(struct sym_swift_parser *p)
{
    /* Optional is so frequent that "Sg" applies it to the type before, without a list of
     * arguments. */
    struct sym_swift_node *arguments = sym_swift_make1(p, SWIFT_LIST, sym_swift_pop_type(p));
    struct sym_swift_node *type = sym_swift_swift_type(p, SWIFT_ENUM, "Optional");
    return sym_swift_remember(
        p, sym_swift_node_type(sym_swift_make2(p, SWIFT_BOUND_GENERIC, type, arguments)));
}

/* Push `node` n - 1 times; the caller pushes the last one. */
static struct sym_swift_node *
repeat(struct sym_swift_parser *p, struct sym_swift_node *node, int64_t n)
{
    /* The limit of Swift's own mangler and demangler (SubstitutionMerging::MaxRepeatCount). */
    if (n > SWIFT_REPEAT_MAX)
        return NULL;
    for (; n > 1 && node; n--)
        node = sym_swift_push(p, node) ? node : NULL;
    return node;
}

struct sym_swift_node *
sym_swift_op_standard(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    if (kind == SWIFT_MODULE)
        return sym_swift_make_text(p, SWIFT_MODULE, "Swift");
    if (sym_swift_next_if(p, 'o'))
        return sym_swift_make_text(p, SWIFT_MODULE, "__C");
    if (sym_swift_next_if(p, 'C'))
        return sym_swift_make_text(p, SWIFT_MODULE, "__C_Synthesized");
    if (sym_swift_next_if(p, 'g'))
        return optional(p);
    /* "S2i" is "SiSi": the mangler merges repeated types, as it does for "A". */
    int64_t n = sym_swift_natural(p);
    /* The types of concurrency (Swift 5.5) have an alphabet of their own: few letters were left. */
    bool of_concurrency = sym_swift_next_if(p, 'c');
    return repeat(p, standard_type(p, of_concurrency), n);
}

static struct sym_swift_node *
substitution(const struct sym_swift_parser *p, int64_t index)
{
    return index >= 0 && (uint64_t)index < p->substitutions.n ? p->substitutions.items[index]
                                                              : NULL;
}

struct sym_swift_node *
sym_swift_op_substitutions(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    (void)kind;
    for (int64_t n = -1;;) {
        char c = sym_swift_peek(p);
        if (c >= 'A' && c <= 'Z') {
            p->pos++;
            /* An upper case letter is the last of a run. */
            return repeat(p, substitution(p, c - 'A'), n);
        }
        if (c >= 'a' && c <= 'z') {
            p->pos++;
            if (!sym_swift_push(p, repeat(p, substitution(p, c - 'a'), n)))
                return NULL;
            n = -1;
        } else if (sym_swift_next_if(p, '_')) {
            /* The first 26 have letters; "_" alone is the next one. */
            return substitution(p, n + 27);
        } else {
            n = sym_swift_natural(p);
            if (n < 0)
                return NULL;
        }
    }
}
