#include "describe.h"

#include "../include/framezero.h"

#include <time.h>

#if defined(__x86_64__)
static const char arch[] = "x86_64";
#elif defined(__LP64__)
static const char arch[] = "arm64";
#else
static const char arch[] = "arm64_32";
#endif

static uint64_t
now_ms(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void
framezero_describe_origin(const struct framezero_record *record, struct framezero_writer *w)
{
    framezero_write_date(w, "timestamp", now_ms());
    if (record->started_ms)
        framezero_write_date(w, "started", record->started_ms);
    framezero_write_text(w, "arch", arch, sizeof(arch));
    framezero_write_open(w, "app", '{');
    framezero_write_text(w, "id", record->app_id, sizeof(record->app_id));
    framezero_write_text(w, "name", record->app_name, sizeof(record->app_name));
    framezero_write_text(w, "version", record->app_version, sizeof(record->app_version));
    framezero_write_text(w, "build", record->app_build, sizeof(record->app_build));
    framezero_write_close(w, '}');
    framezero_write_open(w, "os", '{');
    framezero_write_text(w, "name", record->os_name, sizeof(record->os_name));
    framezero_write_text(w, "version", record->os_version, sizeof(record->os_version));
    framezero_write_text(w, "build", record->os_build, sizeof(record->os_build));
    framezero_write_close(w, '}');
    framezero_write_open(w, "device", '{');
    framezero_write_text(w, "model", record->device_model, sizeof(record->device_model));
    framezero_write_close(w, '}');
    if (record->user_id[0]) {
        framezero_write_open(w, "user", '{');
        framezero_write_text(w, "id", record->user_id, sizeof(record->user_id));
        framezero_write_close(w, '}');
    }
}

static const char *
signal_name(int number)
{
    switch (number) {
    case 4:
        return "SIGILL";
    case 5:
        return "SIGTRAP";
    case 6:
        return "SIGABRT";
    case 8:
        return "SIGFPE";
    case 9:
        return "SIGKILL";
    case 10:
        return "SIGBUS";
    case 11:
        return "SIGSEGV";
    case 12:
        return "SIGSYS";
    case 13:
        return "SIGPIPE";
    default:
        return NULL;
    }
}

static const char *
exception_name(int type)
{
    static const char *const names[] = {NULL,
                                        "EXC_BAD_ACCESS",
                                        "EXC_BAD_INSTRUCTION",
                                        "EXC_ARITHMETIC",
                                        "EXC_EMULATION",
                                        "EXC_SOFTWARE",
                                        "EXC_BREAKPOINT",
                                        "EXC_SYSCALL",
                                        "EXC_MACH_SYSCALL",
                                        "EXC_RPC_ALERT",
                                        "EXC_CRASH",
                                        "EXC_RESOURCE",
                                        "EXC_GUARD",
                                        "EXC_CORPSE_NOTIFY"};
    return type > 0 && type < (int)(sizeof(names) / sizeof(*names)) ? names[type] : NULL;
}

static void
write_exception(const struct framezero_description *about, struct framezero_writer *w)
{
    const struct framezero_exception *exception = &about->record->exception;
    framezero_write_text(w, "exception", exception->name, sizeof(exception->name));
    /* A reason may quote values. */
    if (about->privacy != FRAMEZERO_ADDRESSES)
        framezero_write_text(w, "reason", exception->reason, sizeof(exception->reason));
    framezero_write_open(w, "throw", '[');
    for (unsigned i = 0; i < exception->n_addresses; i++) {
        struct framezero_image *image =
            framezero_images_find(about->images, exception->addresses[i]);
        if (image)
            image->is_hit = true;
        framezero_write_hex(w, NULL, exception->addresses[i] & FRAMEZERO_ADDRESS_MASK);
    }
    framezero_write_close(w, ']');
}

static void
write_codes(const struct framezero_crash *crash, struct framezero_writer *w)
{
    if (crash->n_codes == 0)
        return;
    /* An unhandled exception has the signal and the type above its own code. */
    uint64_t code = crash->codes[0] & 0xfffff;
    if (crash->exception == EXC_BAD_ACCESS && code == KERN_INVALID_ADDRESS)
        framezero_write_text(w, "code", "KERN_INVALID_ADDRESS", 32);
    else if (crash->exception == EXC_BAD_ACCESS && code == KERN_PROTECTION_FAILURE)
        framezero_write_text(w, "code", "KERN_PROTECTION_FAILURE", 32);
    framezero_write_open(w, "codes", '[');
    for (unsigned i = 0; i < crash->n_codes; i++)
        framezero_write_hex(w, NULL, crash->codes[i]);
    framezero_write_close(w, ']');
}

void
framezero_describe_crash(const struct framezero_description *about, struct framezero_writer *w)
{
    FRAMEZERO_WORK static char text[1024];
    const struct framezero_crash *crash = about->crash;
    framezero_write_open(w, "crash", '{');
    framezero_write_number(w, "thread", (int64_t)about->crashed);
    framezero_write_text(w, "signal", signal_name(crash->signal), 16);
    framezero_write_text(w, "mach", exception_name(crash->exception), 32);
    write_codes(crash, w);
    if (crash->has_addr)
        framezero_write_hex(w, "address", crash->addr);
    if (crash->hang_ms) {
        framezero_write_text(w, "exception", "Hang", 8);
        framezero_write_number(w, "hang_ms", crash->hang_ms);
    } else if (about->record->exception.is_set) {
        write_exception(about, w);
    } else if (about->privacy != FRAMEZERO_ADDRESSES &&
               (crash->signal == 4 || crash->signal == 5 || crash->signal == 6)) {
        framezero_images_crash_text(about->images, crash->task, text, sizeof(text));
        framezero_write_text(w, "reason", text, sizeof(text));
    }
    if (crash->has_exit_reason) {
        framezero_write_open(w, "exit_reason", '{');
        framezero_write_number(w, "namespace", crash->exit_namespace);
        framezero_write_hex(w, "code", crash->exit_code);
        framezero_write_text(w, "text", crash->exit_text, 1024);
        framezero_write_close(w, '}');
    }
    framezero_write_close(w, '}');
}
