#include "server/ingest/common/apple_text.h"

#include <ctype.h>

#include "base/attr.h"
#include "base/text.h"

/* The bytes from `start` up to `end` in the arena; NULL for none. */
static const char *
keep(struct ingest_builder *b, const char *start, const char *end)
{
    while (start < end && *start == ' ')
        start++;
    while (end > start && end[-1] == ' ')
        end--;
    return ingest_text(b, fz_span_make(start, (size_t)(end - start)));
}

const char *
ingest_apple_os_name(const char *name)
{
    static const struct {
        const char *old, *today;
    } names[] = {
        {"iPhone OS", "iOS"},      {"Mac OS X", "macOS"},         {"Mac OS", "macOS"},
        {"OS X", "macOS"},         {"Apple TVOS", "tvOS"},        {"Apple TV OS", "tvOS"},
        {"Watch OS", "watchOS"},   {"Apple Watch OS", "watchOS"}, {"xrOS", "visionOS"},
        {"Bridge OS", "bridgeOS"}, {"BridgeOS", "bridgeOS"},
    };
    for (size_t i = 0; name && i < FZ_ARRAY_LEN(names); i++) {
        if (strcmp(name, names[i].old) == 0)
            return names[i].today;
    }
    return name;
}

void
ingest_apple_os(struct ingest_builder *b, const char *text)
{
    struct report *r = b->report;
    if (!text)
        return;
    const char *end = text + strlen(text);
    const char *bracket = strrchr(text, '(');
    if (bracket && bracket > text && bracket[-1] == ' ' && end[-1] == ')') {
        /* Old texts have "10.4.11 (Build 8S165)". */
        const char *build = fz_text_has_prefix(bracket, "(Build ") ? bracket + 7 : bracket + 1;
        if (!r->os_build)
            r->os_build = keep(b, build, end - 1);
        end = bracket;
    }
    while (end > text && end[-1] == ' ')
        end--;
    /* The version is the last word, if it begins with a digit. */
    const char *word = end;
    while (word > text && word[-1] != ' ')
        word--;
    bool has_version = word < end && *word >= '0' && *word <= '9';
    if (has_version && !r->os_version)
        r->os_version = keep(b, word, end);
    if (!r->os_name)
        r->os_name = ingest_apple_os_name(keep(b, text, has_version ? word : end));
}

bool
ingest_apple_uncaught(struct ingest_builder *b, const char *text)
{
    static const char before[] = "uncaught exception '";
    static const char between[] = "reason: '";
    struct report_crash *crash = &b->report->crash;
    const char *name = text ? strstr(text, before) : NULL;
    if (!name)
        return false;
    name += sizeof(before) - 1;
    const char *name_end = strchr(name, '\'');
    if (!name_end)
        return false;
    if (!crash->exception)
        crash->exception = keep(b, name, name_end);
    const char *reason = strstr(name_end, between);
    if (!reason || crash->reason)
        return true;
    reason += sizeof(between) - 1;
    /* The reason may hold quotes itself and text may follow: it ends at the line's last one. */
    const char *end = reason + strlen(reason);
    const char *quote = end;
    while (quote > reason && *quote != '\'')
        quote--;
    crash->reason = keep(b, reason, quote > reason ? quote : end);
    return true;
}

void
ingest_apple_subtype(struct ingest_builder *b, const char *text)
{
    struct report_crash *crash = &b->report->crash;
    if (!text)
        return;
    if (!crash->subtype)
        crash->subtype = keep(b, text, text + strlen(text));
    const char *at = strstr(text, " at 0x");
    /* The subtype of EXC_RESOURCE is a word such as "WAKEUPS", and no code. */
    bool is_code = fz_text_has_prefix(text, "KERN_") || fz_text_has_prefix(text, "EXC_");
    if (is_code && !crash->code)
        crash->code = keep(b, text, at ? at : text + strcspn(text, " "));
    if (!at || crash->has_address)
        return;
    /* Only " at " is skipped: the digits need their "0x". */
    at += 4;
    size_t len = 2 + strspn(at + 2, "0123456789abcdefABCDEF");
    crash->has_address = fz_text_u64(fz_span_make(at, len), &crash->address);
}

/* Letters, digits, a comma, digits; or a board: letters, digits, "AP". */
static bool
is_model(const char *word, size_t len)
{
    size_t i = 0, start;
    while (i < len && isalpha((unsigned char)word[i]))
        i++;
    start = i;
    while (i < len && isdigit((unsigned char)word[i]))
        i++;
    /* "MacBookPro16,1": both parts must be there, or any word would be a model. */
    if (start == 0 || i == start || i == len)
        return false;
    if (word[i] != ',')
        return isupper((unsigned char)word[0]) && word[len - 2] == 'A' && word[len - 1] == 'P';
    start = ++i;
    while (i < len && isdigit((unsigned char)word[i]))
        i++;
    return i > start && i == len;
}

const char *
ingest_apple_model(struct ingest_builder *b, const char *text)
{
    static const char between[] = " ;()\t\n";
    for (const char *p = text; p && *p;) {
        p += strspn(p, between);
        /* The text may have the system, the kernel and the model, in any order. */
        size_t len = strcspn(p, between);
        if (is_model(p, len))
            return keep(b, p, p + len);
        p += len;
    }
    return NULL;
}

const char *
ingest_apple_version(struct ingest_builder *b, const char *version, const char *build)
{
    if (!version || !build)
        return version ? version : build;
    return ingest_printf(b, "%s (%s)", version, build);
}
