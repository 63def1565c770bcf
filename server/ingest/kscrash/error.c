/* What happened, from crash.error: its type decides which of the other members count. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/arch/arch.h"
#include "server/ingest/common/exception_names.h"
#include "server/ingest/kscrash/kscrash.h"

static const char where[] = "crash.error";

static void
read_mach(const struct ingest_kscrash *k)
{
    static const char *const known[] = {"exception", "exception_name", "code",
                                        "code_name", "subcode",        NULL};
    static const char at[] = "crash.error.mach";
    struct ingest_builder *b = k->b;
    struct report_crash *crash = &b->report->crash;
    const json_t *mach = ingest_json_member(b, k->error, where, "mach", JSON_OBJECT);
    uint64_t type = 0, code = 0, subcode = 0;
    bool has_type = ingest_json_u64(b, mach, at, "exception", &type);
    crash->mach = ingest_json_text(b, mach, at, "exception_name");
    if (!crash->mach)
        crash->mach = ingest_mach_exception(type);
    crash->code = ingest_json_text(b, mach, at, "code_name");
    bool has_code = ingest_json_u64(b, mach, at, "code", &code);
    bool has_subcode = ingest_json_u64(b, mach, at, "subcode", &subcode);
    if (!crash->code && has_type && has_code) {
        crash->code = ingest_mach_code(type, code, fz_arch_is_arm(b->report->arch));
    }
    /* All zeros is what the reporter leaves where there was no Mach exception. */
    if ((has_code || has_subcode) && (type || code || subcode))
        ingest_set_mach_codes(b, (uint64_t[]){code, subcode}, 2);
    if (mach)
        ingest_add_extra(b, "mach", mach, known);
}

static void
read_signal(const struct ingest_kscrash *k)
{
    static const char *const known[] = {"signal", "name", "code", "code_name", NULL};
    static const char at[] = "crash.error.signal";
    struct ingest_builder *b = k->b;
    struct report_crash *crash = &b->report->crash;
    const json_t *signal = ingest_json_member(b, k->error, where, "signal", JSON_OBJECT);
    int64_t number = 0, code = 0;
    crash->signal = ingest_json_text(b, signal, at, "name");
    if (ingest_json_i64(b, signal, at, "signal", &number) && !crash->signal)
        crash->signal = ingest_signal_name(number);
    crash->signal_code = ingest_json_text(b, signal, at, "code_name");
    /* 0 where a Mach exception was caught, before the kernel made a signal of it. */
    if (!crash->signal_code && ingest_json_i64(b, signal, at, "code", &code) && code != 0)
        crash->signal_code = ingest_printf(b, "%lld", (long long)code);
    if (signal)
        ingest_add_extra(b, "signal", signal, known);
}

static void
read_exception(const struct ingest_kscrash *k, const char *key)
{
    static const char *const known[] = {"name", "reason", NULL};
    static const char *const known_name[] = {"name", NULL};
    struct ingest_builder *b = k->b;
    struct report_crash *crash = &b->report->crash;
    const json_t *exception = ingest_json_member(b, k->error, where, key, JSON_OBJECT);
    if (!exception)
        return;
    const char *name = ingest_json_text(b, exception, key, "name");
    const char *reason = ingest_json_text(b, exception, key, "reason");
    if (name)
        crash->exception = name;
    if (!crash->reason)
        crash->reason = reason;
    /* The error may have given another reason already. */
    bool same = !reason || !crash->reason || strcmp(reason, crash->reason) == 0;
    ingest_add_extra(b, key, exception, same ? known : known_name);
}

/* Why the system ended the process, as far as the next launch could find out. */
static void
read_exit_reason(const struct ingest_kscrash *k)
{
    struct ingest_builder *b = k->b;
    const json_t *exit = ingest_json_member(b, k->error, where, "exit_reason", JSON_OBJECT);
    ingest_json_exit_reason(b, exit, "crash.error.exit_reason");
    /* Version 3.0 of the client has its own word for it: "memory_limit", "low_battery"... */
    if (!b->report->crash.termination)
        b->report->crash.termination = ingest_json_text(b, k->error, where, "termination_reason");
    /* The process has ended, even if nothing says why: report_ends_run() asks for that. */
    if (!b->report->crash.termination && strcmp(k->type, "resource_termination") == 0)
        b->report->crash.termination = "resource_termination";
}

/* What a limit was of: the client's word, in one of two members. */
static const char *
kind_of_resource(const struct ingest_kscrash *k)
{
    static const struct {
        const char *word, *kind;
    } rows[] = {{"cpu", "cpu"}, {"memory", "memory"}, {"disk", "disk_write"}, {"io", "disk_write"}};
    static const char *const keys[] = {"subtype", "termination_reason"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(keys); i++) {
        const char *text = json_string_value(json_object_get(k->error, keys[i]));
        for (size_t n = 0; text && n < FZ_ARRAY_LEN(rows); n++) {
            if (strncasecmp(text, rows[n].word, strlen(rows[n].word)) == 0)
                return rows[n].kind;
        }
    }
    return NULL;
}

static const char *
kind_of(const struct ingest_kscrash *k)
{
    static const struct {
        const char *type, *kind;
    } kinds[] = {{"user", "error"},
                 {"deadlock", "hang"},
                 {"hang", "hang"},
                 {"profile", "cpu"},
                 {"memory_termination", "memory"}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(kinds); i++) {
        if (strcmp(k->type, kinds[i].type) == 0)
            return kinds[i].kind;
    }
    if (strcmp(k->type, "resource_termination") == 0)
        return kind_of_resource(k);
    /* Version 2.x has `hang` beside an error of another type. */
    return json_is_object(json_object_get(k->error, "hang")) ? "hang" : NULL;
}

/* Address 0 is a null pointer only where something was accessed; else it means none. */
static void
read_address(const struct ingest_kscrash *k)
{
    struct report_crash *crash = &k->b->report->crash;
    /* Only these name the address that was accessed; for others the member is the pc or nothing. */
    bool access = (crash->mach && strcmp(crash->mach, "EXC_BAD_ACCESS") == 0) ||
                  (crash->signal &&
                   (strcmp(crash->signal, "SIGSEGV") == 0 || strcmp(crash->signal, "SIGBUS") == 0));
    uint64_t address;
    if (ingest_json_u64(k->b, k->error, where, "address", &address) && (address || access)) {
        crash->has_address = true;
        crash->address = address;
    }
}

void
ingest_kscrash_read_error(const struct ingest_kscrash *k)
{
    static const char *const known[] = {"address",     "reason",        "mach",    "signal",
                                        "nsexception", "cpp_exception", "profile", NULL};
    static const char *const known_crash[] = {
        "error", "threads", "crashed_thread", "diagnosis", "last_exception_backtrace", NULL};
    struct ingest_builder *b = k->b;
    struct report *r = b->report;
    r->crash.diagnosis = ingest_json_text(b, k->crash, "crash", "diagnosis");
    r->crash.reason = ingest_json_text(b, k->error, where, "reason");
    read_mach(k);
    read_signal(k);
    read_exception(k, "nsexception");
    read_exception(k, "cpp_exception");
    const json_t *user = ingest_json_member(b, k->error, where, "user_reported", JSON_OBJECT);
    const char *name = ingest_json_text(b, user, "crash.error.user_reported", "name");
    if (name)
        /* A report of an app's own scripts (Lua, JavaScript) names its error here. */
        r->crash.exception = name;
    read_address(k);
    read_exit_reason(k);
    r->kind = kind_of(k);
    ingest_add_extra(b, "error", k->error, known);
    ingest_add_extra(b, "crash", k->crash, known_crash);
}

void
ingest_kscrash_read_corpse(const struct ingest_kscrash *k)
{
    static const char at[] = "corpse.crashInfo";
    struct ingest_builder *b = k->b;
    struct report *r = b->report;
    struct report_crash *crash = &r->crash;
    const json_t *corpse = ingest_json_member(b, k->report, "", "corpse", JSON_OBJECT);
    const json_t *info = ingest_json_member(b, corpse, "corpse", "crashInfo", JSON_OBJECT);
    int64_t number;
    if (!info)
        return;
    if (!r->process.name)
        r->process.name = ingest_json_text(b, info, at, "processName");
    if (!r->process.path)
        r->process.path = ingest_json_text(b, info, at, "processPath");
    if (!r->process.pid)
        ingest_json_i64(b, info, at, "pid", &r->process.pid);
    if (!crash->signal && ingest_json_i64(b, info, at, "signal", &number))
        crash->signal = ingest_signal_name(number);
    if (!crash->mach && ingest_json_i64(b, info, at, "machException", &number) && number > 0)
        crash->mach = ingest_mach_exception((uint64_t)number);
    bool is_access = crash->mach && strcmp(crash->mach, "EXC_BAD_ACCESS") == 0;
    if (!crash->has_address && is_access)
        crash->has_address = ingest_json_u64(b, info, at, "faultAddress", &crash->address);
    const json_t *reason = json_object_get(info, "exitReason");
    if (!crash->termination && json_is_object(reason))
        ingest_json_exit_reason(b, reason, "corpse.crashInfo.exitReason");
    const char *words = ingest_json_text(b, info, at, "exitReasonDescription");
    if (words && crash->termination && !strstr(crash->termination, words))
        crash->termination = ingest_printf(b, "%s %s", crash->termination, words);
    else if (words && !crash->termination)
        crash->termination = words;
}
