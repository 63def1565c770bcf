/* Variants of an issue: what differs between two bugs in one function, and between two builds. */
#include <string.h>

#include "base/text.h"
#include "server/group/parts.h"
#include "server/report/report.h"

enum { NULL_PAGE = 64 * 1024 };

/* What was wrong with the address, in the words of a person. NULL = not known. */
static const char *
fault_kind(const struct report_crash *crash)
{
    static const struct {
        const char *code, *kind;
    } kinds[] = {{"KERN_PROTECTION_FAILURE", "protected memory"},
                 {"KERN_INVALID_ADDRESS", "invalid address"},
                 {"KERN_CODESIGN_ERROR", "invalid code signature"},
                 {"KERN_MEMORY_ERROR", "memory error"},
                 {"EXC_ARM_DA_ALIGN", "misaligned address"},
                 {"EXC_I386_GPFLT", "invalid address"},
                 {"EXC_ARM_PAC_FAIL", "pointer authentication"}};
    bool is_access =
        (crash->mach && strcmp(crash->mach, "EXC_BAD_ACCESS") == 0) ||
        (!crash->mach && crash->signal &&
         (strcmp(crash->signal, "SIGSEGV") == 0 || strcmp(crash->signal, "SIGBUS") == 0));
    if (!is_access)
        return NULL;
    if (crash->has_address && crash->address < NULL_PAGE)
        return "null pointer";
    for (size_t i = 0; crash->code && i < FZ_ARRAY_LEN(kinds); i++) {
        if (strcmp(crash->code, kinds[i].code) == 0)
            return kinds[i].kind;
    }
    return NULL;
}

static void
append(struct fz_buffer *out, const char *separator, const char *text, size_t max)
{
    fz_buffer_text(out, out->len ? separator : "");
    size_t len = strnlen(text, max);
    while (len && ((uint8_t)text[len] & 0xc0) == 0x80) /* not inside a character */
        len--;
    fz_buffer_append(out, text, len);
}

enum fz_code
group_variant(const struct report *report, const struct group_stack *stack,
              const struct group_key *key, struct fz_arena *arena, struct group_variant *ret,
              struct fz_error *err)
{
    enum { PART_MAX = 40 };
    const struct report_crash *crash = &report->crash;
    const char *text = crash->reason;
    const char *signal = crash->signal ? crash->signal : crash->mach;
    const char *fault = fault_kind(crash);
    uint32_t line = key->anchor_frame >= 0 ? stack->frames[key->anchor_frame].line : 0;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer label = fz_buffer_make(0);
    if (!text && crash->n_messages)
        text = crash->messages[0];
    const char *message = text ? group_message(text, arena) : "";
    if (!message)
        return fz_arena_fail(arena, err);
    if (signal)
        append(&label, ", ", signal, PART_MAX);
    if (fault)
        append(&label, ", ", fault, PART_MAX);
    const char *type =
        strcmp(stack->kind, "crash") == 0 ? group_exception_name(crash->exception) : NULL;
    if (type && (!stack->exception || group_is_cxx_crash(stack)))
        append(&label, ", ", type, PART_MAX);
    if (line)
        fz_buffer_printf(&label, "%sline %u", label.len ? ", " : "", line);
    if (*message)
        append(&label, ": ", message, GROUP_MESSAGE_MAX);
    if (label.len == 0)
        fz_buffer_text(&label, "unknown");
    ret->label = label.failed ? NULL : group_line(fz_buffer_cstr(&label), arena);
    if (!ret->label)
        return fz_arena_fail(arena, err);
    struct fz_sha256 hash = fz_sha256_make();
    fz_sha256_add(&hash, fz_span_cstr(ret->label));
    fz_sha256_end(&hash, ret->hash);
    return FZ_OK;
}
