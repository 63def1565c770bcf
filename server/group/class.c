/*
 * The class of a crash: what kind it is, as far as every format and every build of the app say the
 * same of it.
 *
 * A signal is not part of it: one bug is SIGSEGV, SIGBUS, SIGTRAP or SIGILL, by the architecture.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "server/group/parts.h"
#include "server/report/report.h"

/* ---- exceptions ---- */

/* The name of the language exception; NULL where it says nothing: names that stand for any
 * exception, and what SDKs make of signals. */
const char *
group_exception_name(const char *name)
{
    static const char *const general[] = {"NSException",   "NSGenericException",
                                          "cpp_exception", "C++ exception",
                                          "CPPException",  "exception",
                                          "unknown",       "Fatal error",
                                          "Crash",         "Error",
                                          "NSError"};
    if (!name || !*name || fz_text_has_prefix(name, "EXC_") || fz_text_has_prefix(name, "SIG"))
        return NULL;
    for (size_t i = 0; i < FZ_ARRAY_LEN(general); i++) {
        if (strcasecmp(name, general[i]) == 0)
            return NULL;
    }
    return name;
}

static bool
is_handled(const char *kind)
{
    return strcmp(kind, "error") == 0 || strcmp(kind, "message") == 0;
}

static bool
has_frame(const struct group_stack *stack, const char *name)
{
    for (size_t i = 0; i < stack->n_frames; i++) {
        if (stack->frames[i].name && strcmp(stack->frames[i].name, name) == 0)
            return true;
    }
    return false;
}

bool
group_is_cxx_crash(const struct group_stack *stack)
{
    if (strcmp(stack->kind, "crash") != 0 || !stack->exception)
        return false;
    /* An Objective-C exception goes through __cxa_throw(), too, and its name is an identifier. */
    return strstr(stack->exception, "::") || strchr(stack->exception, '*') ||
           (has_frame(stack, "__cxa_throw") && !has_frame(stack, "objc_exception_throw"));
}

/* "7Failure" in a report, which resolve shows as "Failure". */
static bool
is_cxx_type(const struct report_crash *crash)
{
    const char *mangled = crash->exception_mangled;
    return mangled && *mangled != '$' && !fz_text_has_prefix(mangled, "_$") &&
           !fz_text_has_prefix(mangled, "_T");
}

/* The name with a limit, since a report may bring any. False when memory is out. */
static bool
set_exception(const struct report *report, struct fz_arena *arena, struct group_stack *stack)
{
    enum { NAME_MAX_BYTES = 256 };
    bool thrown = strcmp(stack->kind, "crash") == 0 || is_handled(stack->kind);
    /* Of a hang it is what the SDK calls hangs. */
    const char *name = thrown ? group_exception_name(report->crash.exception) : NULL;
    size_t len = name ? strnlen(name, NAME_MAX_BYTES) : 0;
    if (!name)
        return true;
    if (strcmp(stack->kind, "crash") == 0 && is_cxx_type(&report->crash))
        return true;
    while (name[len] && ((uint8_t)name[len] & 0xc0) == 0x80)
        len--; /* not inside a character */
    stack->exception = fz_arena_text(arena, fz_span_make(name, len));
    return stack->exception != NULL;
}

/* ---- Swift traps ---- */

static bool
contains_folded(const char *text, size_t len, const char *part)
{
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= len; i++) {
        if (strncasecmp(text + i, part, n) == 0)
            return true;
    }
    return false;
}

/* Kinds of traps by the texts of the runtime and the standard library. Optimised builds have the
 * text as a pseudo function, others as a message: the words differ between both and between
 * versions. Texts of fatalError() and precondition() are the app's own and no kind. */
static const char *
trap_of_text(const char *text)
{
    static const struct {
        const char *part, *kind;
    } kinds[] = {{"found nil", "nil unwrapped"},
                 {"force unwrapped a nil", "nil unwrapped"},
                 {"index out of range", "index out of range"},
                 {"index is out of range", "index out of range"},
                 {"out of bounds", "index out of range"},
                 {"negative array index", "index out of range"},
                 {"division by zero", "division by zero"},
                 {"remainder", "division by zero"},
                 {"overflow", "arithmetic overflow"},
                 {"not enough bits", "number not representable"},
                 {"cannot be converted to", "number not representable"},
                 {"negative value is not representable", "number not representable"},
                 {"could not cast", "cast failed"},
                 {"cast failed", "cast failed"},
                 {"unexpectedly raised an error", "try! failed"},
                 {"range requires lowerbound", "range upside down"},
                 {"form range with", "range upside down"},
                 {"duplicate keys", "duplicate keys"},
                 {"simultaneous access", "overlapping accesses"},
                 {"overlapping accesses", "overlapping accesses"},
                 {"unowned reference", "unowned reference"}};
    /* The place follows the text: "Fatal error: Index out of range: file Swift/Array.swift, line
     * 3". */
    size_t len = strcspn(text, "\n");
    for (size_t i = 0; i < FZ_ARRAY_LEN(kinds); i++) {
        if (contains_folded(text, len, kinds[i].part))
            return kinds[i].kind;
    }
    return NULL;
}

/* "Shop/Cart.swift:12: Fatal error: Index out of range"; also older ones in small letters. */
static const char *
trap_of_message(const char *text)
{
    static const char *const starts[] = {"Fatal error: ", "fatal error: "};
    for (size_t i = 0; text && i < FZ_ARRAY_LEN(starts); i++) {
        const char *at = strstr(text, starts[i]);
        if (at)
            return trap_of_text(at + strlen(starts[i]));
    }
    return NULL;
}

static const char *
find_trap(const struct report *report, const struct group_stack *stack)
{
    static const char pseudo[] = "Swift runtime failure: ";
    const char *found = NULL;
    for (size_t i = 0; i < stack->n_frames && !found; i++) {
        const struct report_symbol *symbol = stack->frames[i].symbol;
        /* Only where it ended: a caller did not trap. */
        if (!stack->frames[i].is_inlined && i > 0)
            break;
        if (symbol && symbol->function && fz_text_has_prefix(symbol->function, pseudo))
            found = trap_of_text(symbol->function + strlen(pseudo));
    }
    /* The process's own words. What reporters write as a diagnosis is a guess, in words of theirs
     * and only on some systems. */
    for (size_t i = 0; i < report->crash.n_messages && !found; i++)
        found = trap_of_message(report->crash.messages[i]);
    /* Bugsnag has the text in two parts. */
    const struct report_crash *crash = &report->crash;
    if (!found && crash->exception && crash->reason &&
        strcasecmp(crash->exception, "Fatal error") == 0)
        found = trap_of_text(crash->reason);
    return found ? found : trap_of_message(crash->reason);
}

/* ---- terminations ---- */

/* The codes that the system's watchers end a process with: the first of them in the text, as "0x"
 * and eight digits. 0 = none. Their namespaces differ between systems. */
static uint64_t
known_code(const char *text)
{
    static const uint32_t codes[] = {0x8badf00d, 0xdeadfa11, 0xdead10cc, 0xc00010ff, 0xbad22222,
                                     0xbaaaaaad, 0xbaddd15c, 0x2bad45ec, 0xc51bad01, 0xc51bad02,
                                     0xc51bad03, 0xbada5e47, 0xfee1dead, 0xbaadca11};
    while (*text) {
        size_t len = 0;
        while (isalnum((unsigned char)text[len]))
            len++;
        struct fz_span word = fz_span_make(text, len);
        uint64_t number = 0;
        bool is_number =
            len && (fz_text_u64(word, &number) || (len == 8 && fz_text_hex_u64(word, &number)));
        for (size_t i = 0; is_number && i < FZ_ARRAY_LEN(codes); i++) {
            if (number == codes[i])
                return number;
        }
        text += len ? len : 1;
    }
    return 0;
}

/* "Namespace DYLD, Code 1 Library missing" and "DYLD 1 ..." → "DYLD 1". NULL for namespaces of what
 * the process did itself, which its own reporter does not know: SIGNAL 11 is a signal. False when
 * memory is out. */
static bool
set_namespace(const char *text, struct fz_arena *arena, struct group_stack *stack)
{
    static const char *const own[] = {"SIGNAL", "OBJC", "LIBSYSTEM", "SWIFT", "LIBXPC", "ROSETTA"};
    static const char skipped[] = "Namespace ";
    if (fz_text_has_prefix(text, skipped))
        text += strlen(skipped);
    size_t len = 0;
    while (isupper((unsigned char)text[len]) || text[len] == '_')
        len++;
    if (len < 2 || len > 32)
        return true;
    for (size_t i = 0; i < FZ_ARRAY_LEN(own); i++) {
        if (fz_span_is(fz_span_make(text, len), own[i]))
            return true;
    }
    const char *code = text + len + strspn(text + len, ", ");
    if (fz_text_has_prefix(code, "Code "))
        code += strlen("Code ");
    size_t digits = strspn(code, "0123456789abcdefxABCDEF");
    if (digits == 0 || !isdigit((unsigned char)*code) || digits > 18)
        digits = 0;
    stack->termination =
        fz_arena_printf(arena, "%.*s%s%.*s", (int)len, text, digits ? " " : "", (int)digits, code);
    return stack->termination != NULL;
}

static bool
set_termination(const struct report *report, struct fz_arena *arena, struct group_stack *stack)
{
    const struct report_crash *crash = &report->crash;
    uint64_t code = crash->termination ? known_code(crash->termination) : 0;
    if (code) {
        stack->termination = fz_arena_printf(arena, "0x%08llx", (unsigned long long)code);
        return stack->termination != NULL;
    }
    return !crash->termination || set_namespace(crash->termination, arena, stack);
}

/* ---- all of it ---- */

bool
group_set_class(const struct report *report, struct fz_arena *arena, struct group_stack *stack)
{
    const struct report_crash *crash = &report->crash;
    stack->kind = report->kind ? report->kind : "crash";
    stack->trap = find_trap(report, stack);
    if (!set_exception(report, arena, stack) || !set_termination(report, arena, stack))
        return false;
    /* A key needs it where no frame says enough; stacks of crashes would only become more. */
    bool needs = stack->n_frames == 0 || is_handled(stack->kind) || crash->exception;
    const char *text = crash->reason;
    if (!text && crash->n_messages)
        text = crash->messages[0];
    if (needs && text)
        stack->message = group_message(text, arena);
    return !needs || !text || stack->message;
}
