/* The head of Apple's crash text: "Key: value" lines. */
#include "server/ingest/text/text.h"

#include <stddef.h>

#include "base/arch/arch.h"
#include "base/text.h"
#include "base/time.h"
#include "server/ingest/common/apple_text.h"
#include "server/ingest/common/exception_names.h"

enum { CODES_MAX = 16 };

/* "Demo [4242]": the text before the brackets, and the number in them. */
static struct fz_span
cut_pid(struct fz_span value, int64_t *ret_pid)
{
    size_t open = fz_text_find_last(value, "[");
    /* Reporters without a pid write the name alone. */
    if (open == SIZE_MAX || !fz_span_ends(value, "]"))
        return value;
    struct fz_span number = fz_text_trim(fz_span_between(value, open + 1, value.len - 1));
    int64_t pid;
    if (number.len && fz_text_i64(number, &pid))
        *ret_pid = pid;
    return fz_text_trim(fz_span_until(value, open));
}

static const char *
known(struct ingest_text *c, struct fz_span value)
{
    return fz_span_is(value, "???") || fz_span_is(value, "(null)") ? NULL
                                                                   : ingest_text(c->b, value);
}

static void
read_id(struct ingest_text *c, struct fz_span value)
{
    /* What reporters write when they have no id. */
    if (!fz_span_is(value, "TODO") && !fz_span_is(value, "[TODO]"))
        c->b->report->id = known(c, value);
}

static void
read_process(struct ingest_text *c, struct fz_span value)
{
    struct report *r = c->b->report;
    r->process.name = known(c, cut_pid(value, &r->process.pid));
    /* The text has no name of the app; an .ips header may bring one later. */
    r->app_name = r->process.name;
}

static void
read_parent(struct ingest_text *c, struct fz_span value)
{
    struct report_process *p = &c->b->report->process;
    p->parent = known(c, cut_pid(value, &p->parent_pid));
}

static void
read_version(struct ingest_text *c, struct fz_span value)
{
    c->version = value;
}

static void
read_code_type(struct ingest_text *c, struct fz_span value)
{
    c->code_type = value;
}

/* "MacBookPro11,1, BootROM MBP111.0138, 2 processors", near the end of macOS's reports. */
static void
read_profile(struct ingest_text *c, struct fz_span value)
{
    struct report *r = c->b->report;
    size_t end = fz_text_find(value, ", ");
    /* iOS has "Hardware Model" in the head; "Model" is for Macs, at the end. */
    if (!r->device_model)
        r->device_model = known(c, fz_text_trim(fz_span_until(value, end)));
    if (end != SIZE_MAX)
        ingest_text_add_extra(c, fz_span_cstr("Model"), value);
}

static void
read_os(struct ingest_text *c, struct fz_span value)
{
    ingest_apple_os(c->b, ingest_text(c->b, value));
}

static void
read_time(struct ingest_text *c, struct fz_span value)
{
    (void)fz_time_parse(value, &c->b->report->timestamp_ms);
    ingest_text_add_extra(c, fz_span_cstr("Date/Time"), value); /* the model's time has no zone */
}

static void
read_launch(struct ingest_text *c, struct fz_span value)
{
    (void)fz_time_parse(value, &c->b->report->process.launched_ms);
    ingest_text_add_extra(c, fz_span_cstr("Launch Time"), value);
}

static void
read_thread_number(struct ingest_text *c, struct fz_span value)
{
    uint64_t number;
    if (ingest_text_cut_decimal(&value, &number) && number <= INT32_MAX)
        c->b->report->crash.thread = (int64_t)number;
}

/* "EXC_BAD_ACCESS (SIGSEGV)", "SIGSEGV", "EXC_CRASH (SIGKILL - CODESIGNING)". */
static void
read_type(struct ingest_text *c, struct fz_span value)
{
    struct report_crash *crash = &c->b->report->crash;
    size_t open = fz_text_find(value, "(");
    struct fz_span first = fz_text_trim(fz_span_until(value, open)), second = {NULL, 0};
    if (open != SIZE_MAX) {
        struct fz_span inside = fz_span_from(value, open + 1);
        second = ingest_text_word(&inside);
        second = fz_span_until(second, fz_text_find(second, ")"));
    }
    if (fz_span_begins(first, "EXC_"))
        crash->mach = ingest_text(c->b, first);
    else if (fz_span_begins(first, "SIG"))
        crash->signal = ingest_text(c->b, first);
    else
        ingest_text_add_extra(c, fz_span_cstr("Exception Type"), value);
    /* Apple writes both, PLCrashReporter the signal alone. */
    if (fz_span_begins(second, "SIG"))
        crash->signal = ingest_text(c->b, second);
    /* "(Code Signature Invalid)", "(SIGKILL - CODESIGNING)": more than a signal. */
    if (open != SIZE_MAX && second.len + open + 2 < value.len)
        ingest_text_add_extra(c, fz_span_cstr("Exception Type"), value);
}

/* "0x0000000000000001, 0x0000000000000010" */
static bool
read_numbers(struct ingest_text *c, struct fz_span value)
{
    struct report_crash *crash = &c->b->report->crash;
    uint64_t numbers[CODES_MAX];
    size_t n = 0;
    while (value.len && n < CODES_MAX) {
        if (!ingest_text_cut_hex(&value, &numbers[n]))
            return false;
        n++;
        value = fz_text_trim(value);
        if (fz_span_begins(value, ","))
            value = fz_text_trim(fz_span_from(value, 1));
        else if (value.len)
            return false;
    }
    if (n == 0 || value.len)
        return false;
    ingest_set_mach_codes(c->b, numbers, n);
    /* Only for a bad access; other exceptions have something else in their second code. */
    ingest_set_address_of_codes(crash);
    return true;
}

static void
read_codes(struct ingest_text *c, struct fz_span value)
{
    struct report_crash *crash = &c->b->report->crash;
    if (read_numbers(c, value))
        return;
    /* PLCrashReporter: "SEGV_MAPERR at 0x10", KSCrash: "KERN_INVALID_ADDRESS at 0x10". */
    struct fz_span rest = value, word = ingest_text_word(&rest);
    if (fz_span_ends(word, ","))
        word = fz_span_until(word, word.len - 1);
    uint64_t number;
    struct fz_span digits = word;
    if (fz_span_begins(word, "KERN_") || fz_span_begins(word, "EXC_"))
        crash->code = ingest_text(c->b, word);
    else if (ingest_text_cut_hex(&digits, &number) && !digits.len)
        (void)read_numbers(c, word);
    else if (!crash->signal_code && (fz_span_begins(word, "#") || fz_text_contains(word, "_")))
        crash->signal_code = ingest_text(c->b, word);
    else
        ingest_text_add_extra(c, fz_span_cstr("Exception Codes"), value);
    struct fz_span addr = fz_text_trim(ingest_text_after(value, " at ", NULL));
    /* A code of 0 with the address 0 is what writers without a code write. */
    bool nothing = crash->n_mach_codes == 1 && crash->mach_codes[0] == 0;
    if (ingest_text_cut_hex(&addr, &number) && (number || !nothing)) {
        crash->has_address = true;
        crash->address = number;
    }
}

static void
read_subtype(struct ingest_text *c, struct fz_span value)
{
    struct report_crash *crash = &c->b->report->crash;
    crash->subtype = ingest_text(c->b, value);
    if (fz_span_begins(value, "KERN_") || fz_span_begins(value, "EXC_"))
        read_codes(c, value);
}

static const struct key {
    const char *key;
    void (*read)(struct ingest_text *c, struct fz_span value); /* NULL: a text of the report */
    size_t offset;                                             /* of that text */
} keys[] = {
    {"Incident Identifier", .read = read_id},
    {"Process", .read = read_process},
    {"Parent Process", .read = read_parent},
    {"Path", .offset = offsetof(struct report, process.path)},
    {"Identifier", .offset = offsetof(struct report, app_id)},
    {"Version", .read = read_version},
    {"Code Type", .read = read_code_type},
    {"Hardware Model", .offset = offsetof(struct report, device_model)},
    {"Hardware model", .offset = offsetof(struct report, device_model)}, /* spindump */
    {"Architecture", .read = read_code_type},                            /* spindump */
    {"Model", .read = read_profile},
    {"OS Version", .read = read_os},
    {"Date/Time", .read = read_time},
    {"Launch Time", .read = read_launch},
    {"Crashed Thread", .read = read_thread_number},
    {"Triggered by Thread", .read = read_thread_number},
    {"Highlighted by Thread", .read = read_thread_number},
    {"Exception Type", .read = read_type},
    {"Exception Codes", .read = read_codes},
    {"Exception Subtype", .read = read_subtype},
};

static const struct key *
find_key(struct fz_span key)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(keys); i++) {
        if (fz_span_is(key, keys[i].key))
            return &keys[i];
    }
    return NULL;
}

bool
ingest_text_is_key(struct fz_span key)
{
    return find_key(key) != NULL;
}

bool
ingest_text_read_key(struct ingest_text *c, struct fz_span key, struct fz_span value)
{
    const struct key *found = find_key(key);
    if (found && value.len && found->read)
        found->read(c, value);
    else if (found && value.len)
        *(const char **)((char *)c->b->report + found->offset) = known(c, value);
    return found != NULL;
}

static bool
is_integer(struct fz_span text)
{
    uint64_t number;
    return ingest_text_cut_decimal(&text, &number) && text.len == 0;
}

/*
 * "1.2 (34)" is version and build, but Apple's iOS wrote "34 (1.2)" until iOS 14. Apple's own
 * reports have "(Native)" after the architecture, which no other reporter writes. Of a number with
 * dots and one without, the one without is the build, in any order.
 */
static void
settle_version(struct ingest_text *c)
{
    struct report *r = c->b->report;
    size_t open = fz_text_find_last(c->version, "(");
    if (open == SIZE_MAX || !fz_span_ends(c->version, ")")) {
        /* PLCrashReporter writes the build alone if there is no marketing version. */
        if (is_integer(c->version))
            r->app_build = known(c, c->version);
        else
            r->app_version = known(c, c->version);
        return;
    }
    struct fz_span first = fz_text_trim(fz_span_until(c->version, open));
    struct fz_span second = fz_span_between(c->version, open + 1, c->version.len - 1);
    bool is_ios = r->os_name && strcmp(r->os_name, "iOS") == 0;
    uint64_t major = 0;
    struct fz_span os = fz_span_cstr(r->os_version);
    bool is_old = ingest_text_cut_decimal(&os, &major) && major < 15;
    bool build_first = is_ios && is_old && fz_span_ends(c->code_type, "(Native)");
    if (is_integer(first) != is_integer(second))
        build_first = is_integer(first);
    if (!first.len)
        build_first = false;
    r->app_version = known(c, fz_text_trim(build_first ? second : first));
    r->app_build = known(c, fz_text_trim(build_first ? first : second));
}

/* Version, build and architecture, which other lines decide. */
static void
settle_header(struct ingest_text *c)
{
    struct report *r = c->b->report;
    if (c->version.len)
        settle_version(c);
    const struct report_image *app = r->n_images ? &r->images[0] : NULL;
    /* Not every writer lists the app's image first. */
    for (size_t i = 0; i < r->n_images && r->process.path; i++) {
        if (r->images[i].path && strcmp(r->images[i].path, r->process.path) == 0)
            app = &r->images[i];
    }
    if (app)
        /* The image knows "arm64e"; the head says "ARM-64" for both. */
        r->arch = app->arch;
    if (!r->arch)
        r->arch = fz_arch_of_code_type(c->code_type);
    if (!r->arch && c->code_type.len)
        r->arch = ingest_text(c->b, c->code_type);
    /* "X86-64 (Translated)": the process ran under Rosetta. */
    if (fz_text_contains(c->code_type, "Translated"))
        ingest_text_add_extra(c, fz_span_cstr("Code Type"), c->code_type);
}

void
ingest_text_settle(struct ingest_text *c)
{
    /* In this order: images are numbered after the frames that name them, and the head needs the
     * images. */
    ingest_text_settle_threads(c);
    ingest_text_settle_images(c);
    settle_header(c);
    ingest_text_settle_memory(c);
    ingest_text_settle_extras(c);
}
