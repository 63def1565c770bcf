#include "server/ingest/common/normalise.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/arch/arch.h"
#include "base/attr.h"
#include "base/text.h"
#include "server/ingest/common/apple_text.h"
#include "server/ingest/common/exception_names.h"

/* ---- short texts --------------------------------------------------------------------------- */

static bool
trim(const char **text, struct fz_arena *arena)
{
    if (!*text)
        return true;
    const char *start = *text, *end = start + strlen(start);
    while (isspace((unsigned char)*start))
        start++;
    const char *last = end;
    while (last > start && isspace((unsigned char)last[-1]))
        last--;
    if (start == last) {
        *text = NULL;
        return true;
    }
    /* Only a text that is cut at its end needs a copy: the others still end with their NUL. */
    *text = last == end ? start : fz_arena_text(arena, fz_span_make(start, (size_t)(last - start)));
    return *text != NULL;
}

static bool
trim_all(const char **const *texts, size_t n, struct fz_arena *arena)
{
    for (size_t i = 0; i < n; i++) {
        if (!trim(texts[i], arena))
            return false;
    }
    return true;
}

static bool
trim_texts(struct report *r, struct fz_arena *arena)
{
    /* The reason and the diagnosis are not short: their white space may be layout. */
    struct report_crash *c = &r->crash;
    struct report_process *p = &r->process;
    const char **const texts[] = {
        &r->id,          &r->app_id,  &r->app_name,   &r->app_version, &r->app_build,
        &r->environment, &r->os_name, &r->os_version, &r->os_build,    &r->device_model,
        &r->arch,        &p->name,    &p->path,       &p->parent,      &c->signal,
        &c->mach,        &c->code,    &c->exception,  &c->signal_code, &c->subtype,
        &c->termination,
    };
    bool done = trim_all(texts, FZ_ARRAY_LEN(texts), arena);
    for (size_t i = 0; i < r->n_threads && done; i++) {
        struct report_thread *t = &r->threads[i];
        const char **const of_thread[] = {&t->name, &t->queue, &t->state};
        done = trim_all(of_thread, FZ_ARRAY_LEN(of_thread), arena);
    }
    for (size_t i = 0; i < r->n_images && done; i++) {
        struct report_image *m = &r->images[i];
        const char **const of_image[] = {&m->name, &m->path, &m->arch, &m->bundle_id, &m->version};
        done = trim_all(of_image, FZ_ARRAY_LEN(of_image), arena);
    }
    return done;
}

/* ---- names --------------------------------------------------------------------------------- */

/* A kernel's name of a process has 16 characters at most; the path has all of them. */
static const char *
executable_name(const struct report_process *process)
{
    const char *base = process->path ? fz_text_base_name(process->path) : NULL;
    if (!process->name)
        return base && *base ? base : NULL;
    return base && fz_text_has_prefix(base, process->name) ? base : process->name;
}

/* Is the file directly in an app or an extension, or where macOS has an app's executable? */
static bool
is_executable_path(const char *path)
{
    static const char *const folders[] = {".app", ".appex", ".app/Contents/MacOS",
                                          ".appex/Contents/MacOS"};
    const char *base = path ? fz_text_base_name(path) : "";
    if (!*base || base == path || strstr(base, ".dylib"))
        return false;
    size_t len = (size_t)(base - path) - 1; /* of the folder */
    for (size_t i = 0; i < FZ_ARRAY_LEN(folders); i++) {
        size_t n = strlen(folders[i]);
        if (len > n && memcmp(path + len - n, folders[i], n) == 0)
            return true;
    }
    return false;
}

/* Reports that do not name their process: the image that is an app's executable. */
static void
normalise_process(struct report *r)
{
    struct report_process *process = &r->process;
    for (size_t i = 0; i < r->n_images && !process->name && !process->path; i++) {
        if (!is_executable_path(r->images[i].path))
            continue;
        process->path = r->images[i].path;
        process->name = fz_text_base_name(process->path);
    }
}

/* Processors as Mach-O calls them; others' words for them vary. */
static const char *
canonical_arch(const struct report *r)
{
    const char *arch = fz_arch_canonical(r->arch);
    /* "x86" is said of both widths; only the wider one has such addresses. */
    for (size_t i = 0; arch && strcmp(arch, "i386") == 0 && i < r->n_images; i++) {
        if (r->images[i].addr > UINT32_MAX)
            arch = "x86_64";
    }
    return arch ? arch : r->arch;
}

static void
normalise_names(struct report *r)
{
    /* First, since the app's name may follow from the process. */
    normalise_process(r);
    r->arch = canonical_arch(r);
    if (!r->app_name)
        r->app_name = executable_name(&r->process);
    r->os_name = ingest_apple_os_name(r->os_name);
}

/* ---- codes --------------------------------------------------------------------------------- */

static bool
is_arm(const struct report *r)
{
    const char *arch = r->arch;
    for (size_t i = 0; i < r->n_images && !arch; i++)
        arch = r->images[i].arch;
    /* Without any architecture: all devices but older Macs have such a processor. */
    return !arch || fz_arch_is_arm(arch);
}

/* EXC_RESOURCE is about what was used up. */
static const char *
kind_of_resource(const char *word)
{
    static const struct {
        const char *prefix, *kind;
    } kinds[] = {{"CPU", "cpu"}, {"WAKEUPS", "cpu"}, {"MEMORY", "memory"}, {"IO", "disk_write"}};
    for (size_t i = 0; word && i < FZ_ARRAY_LEN(kinds); i++) {
        if (fz_text_has_prefix(word, kinds[i].prefix))
            return kinds[i].kind;
    }
    return NULL;
}

static void
normalise_code(struct report *r)
{
    struct report_crash *crash = &r->crash;
    uint64_t type = ingest_mach_type(crash->mach);
    if (!crash->code && type && crash->n_mach_codes)
        crash->code = ingest_mach_code(type, crash->mach_codes[0], is_arm(r));
    if (type == MACH_EXC_RESOURCE && !r->kind) {
        /* Apple writes "CPU" and "WAKEUPS" as subtype; where it is missing, the highest bits of
         * the code say the same. */
        r->kind = kind_of_resource(crash->subtype);
        if (!r->kind)
            r->kind = kind_of_resource(crash->code);
    }
}

/* ---- terminations -------------------------------------------------------------------------- */

/* What Apple's codes mean. */
struct termination {
    uint64_t code;
    const char *kind; /* as report->kind; NULL = crash */
    const char *meaning;
};

static const struct termination terminations[] = {
    {0x8badf00d, "hang", "the app did not answer in time and was ended by a watchdog"},
    {0xdeadfa11, "hang", "the user forced the app to quit"},
    {0xdead10cc, NULL, "the app held a file lock or a database lock while it was suspended"},
    {0xc00010ff, "cpu", "the system ended the app because the device was too hot"},
    {0xbad22222, "cpu", "the app was resumed too often for its calls over the network"},
    {0xbaaaaaad, "hang", "the user asked for a picture of the whole system; nothing crashed"},
    {0xbaddd15c, NULL, "the system ended the app to purge its data from a full disk"},
    {0x2bad45ec, NULL, "the system ended the app because it broke a rule of security"},
    {0xc51bad01, "cpu", "a task in the background used too much CPU time"},
    {0xc51bad02, "hang", "a task in the background did not end in time"},
    {0xc51bad03, "hang", "a task in the background did not end in time on a busy system"},
    {0xbada5e47, NULL, "an extension did not behave"},
    {0xfee1dead, NULL, "the system ended the process"},
};

static const struct termination *
termination_of(uint64_t code)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(terminations); i++) {
        if (terminations[i].code == code)
            return &terminations[i];
    }
    return NULL;
}

/* "0x8badf00d", "2343432205", and "8badf00d" as it is: eight digits that are no decimal number. */
static const struct termination *
termination_of_word(const char *word, size_t len)
{
    enum { DIGITS = 8 };
    struct fz_span text = fz_span_make(word, len);
    const struct termination *found = NULL;
    uint64_t number = 0;
    if (fz_text_u64(text, &number))
        found = termination_of(number);
    /* Some SDKs print the code in hex without "0x". */
    if (found || len != DIGITS)
        return found;
    number = 0;
    for (size_t i = 0; i < len; i++) {
        int digit = fz_text_hex_digit(word[i]);
        if (digit < 0)
            return NULL;
        number = number << 4 | (unsigned)digit;
    }
    return termination_of(number);
}

/* The first number of the text that is such a code: "Namespace FRONTBOARD, Code 0x8badf00d",
 * "FRONTBOARD 2343432205 <RBSTerminateContext| domain:10 code:0x8BADF00D ...". */
static const struct termination *
termination_in(const char *text)
{
    const struct termination *found = NULL;
    while (text && *text && !found) {
        size_t len = 0;
        /* Codes are words between punctuation, in texts of several systems and languages. */
        while (isalnum((unsigned char)text[len]))
            len++;
        if (len)
            found = termination_of_word(text, len);
        text += len ? len : 1;
    }
    return found;
}

static bool
normalise_termination(struct report *r, struct fz_arena *arena)
{
    struct report_crash *crash = &r->crash;
    const struct termination *found = termination_in(crash->termination);
    /* Before iOS 11 the code was that of the exception. */
    if (!found && crash->n_mach_codes)
        found = termination_of(crash->mach_codes[0]);
    if (!found)
        return true;
    if (!r->kind)
        r->kind = found->kind;
    /* The reporter's own words are about this crash, ours only about the code. */
    if (crash->diagnosis)
        return true;
    crash->diagnosis =
        fz_arena_printf(arena, "0x%08llx: %s", (unsigned long long)found->code, found->meaning);
    return crash->diagnosis != NULL;
}

/* ---- the reason ---------------------------------------------------------------------------- */

/* Is this line about where the process ran, and not about why it ended? */
static bool
is_banner(const char *line)
{
    static const char *const starts[] = {
        "CoreSimulator ", "iPhone Simulator ", "iOS Simulator ",  "dyld: launch, ",
        "dyld2 mode",     "dyld3 mode",        "dyld4 config",    "dyld config",
        "dyld: in dl",    "abort() called",    "Configuration: ", "dyld_sim ",
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(starts); i++) {
        /* Versions follow the words, so only the start is compared. */
        if (fz_text_has_prefix(line, starts[i]))
            return true;
    }
    return false;
}

/* What follows the banners at the start of a text; NULL for nothing. */
static const char *
without_banners(const char *text)
{
    while (text && is_banner(text)) {
        text = strchr(text, '\n');
        while (text && isspace((unsigned char)*text))
            text++;
    }
    return text && *text ? text : NULL;
}

static bool
is_among_messages(const struct report_crash *crash, const char *text)
{
    for (size_t i = 0; i < crash->n_messages; i++) {
        if (strstr(crash->messages[i], text))
            return true;
    }
    return false;
}

static bool
add_message(struct report_crash *crash, const char *text, struct fz_arena *arena)
{
    const char **messages = fz_arena_array(arena, crash->n_messages + 1, sizeof(*messages));
    if (!messages)
        return false;
    if (crash->n_messages)
        memcpy(messages, crash->messages, crash->n_messages * sizeof(*messages));
    messages[crash->n_messages++] = text;
    crash->messages = messages;
    return true;
}

static bool
normalise_reason(struct report_crash *crash, struct fz_arena *arena)
{
    const char *reason = without_banners(crash->reason);
    if (!crash->reason || reason == crash->reason)
        return true;
    /* The line stays visible: a crash of the dynamic linker itself has nothing else. */
    if (!is_among_messages(crash, crash->reason) && !add_message(crash, crash->reason, arena))
        return false;
    for (size_t i = 0; i < crash->n_messages && !reason && !crash->exception; i++)
        reason = without_banners(crash->messages[i]);
    crash->reason = reason;
    return true;
}

/* The line breaks that Swift's runtime ends its messages with are not part of the reason. */
static bool
trim_reason(const char **reason, struct fz_arena *arena)
{
    size_t len = *reason ? strlen(*reason) : 0, all = len;
    while (len && isspace((unsigned char)(*reason)[len - 1]))
        len--;
    if (len == all)
        return true;
    *reason = len ? fz_arena_text(arena, fz_span_make(*reason, len)) : NULL;
    return !len || *reason;
}

bool
ingest_normalise(struct report *report, struct fz_arena *arena)
{
    if (!trim_texts(report, arena))
        return false;
    normalise_names(report);
    normalise_code(report);
    return normalise_termination(report, arena) && normalise_reason(&report->crash, arena) &&
           trim_reason(&report->crash.reason, arena) && report_number_registers(report, arena);
}
