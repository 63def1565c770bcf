#include "run.h"

#include "../include/framezero.h"
#include "pending.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysctl.h>
#include <time.h>
#include <unistd.h>

static char run_id_text[37];

const char *
framezero_run_id(void)
{
    return run_id_text;
}

static void
copy(char *to, size_t size, const char *text)
{
    to[0] = '\0';
    if (text)
        framezero_text_append(to, size, text);
}

static void
fill_record(const struct framezero_options *options)
{
    struct framezero_record *r = &framezero_own_record;
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    r->size = sizeof(*r);
    r->started_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    r->privacy = (uint32_t)options->privacy;
    arc4random_buf(r->run_id, sizeof(r->run_id));
    r->run_id[6] = (uint8_t)((r->run_id[6] & 0x0f) | 0x40);
    r->run_id[8] = (uint8_t)((r->run_id[8] & 0x3f) | 0x80);
    copy(r->app_id, sizeof(r->app_id), options->app_id);
    copy(r->app_name, sizeof(r->app_name), options->app_name);
    copy(r->app_version, sizeof(r->app_version), options->app_version);
    copy(r->app_build, sizeof(r->app_build), options->app_build);
    copy(r->os_name, sizeof(r->os_name), options->os_name);
    copy(r->os_version, sizeof(r->os_version), options->os_version);
    copy(r->os_build, sizeof(r->os_build), options->os_build);
    copy(r->device_model, sizeof(r->device_model), options->device_model);
    copy(r->user_id, sizeof(r->user_id), options->user_id);
    memcpy(r->magic, FRAMEZERO_RECORD_MAGIC, sizeof(r->magic));
}

/* The debugger gets faults first; a handler of ours would only stop twice. */
static bool
is_debugged(void)
{
    struct kinfo_proc info;
    size_t size = sizeof(info);
    int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, getpid()};
    memset(&info, 0, sizeof(info));
    return sysctl(name, 4, &info, &size, NULL, 0) == 0 && (info.kp_proc.p_flag & P_TRACED);
}

int
framezero_install(const struct framezero_options *options)
{
    if (!options || !options->folder || strlen(options->folder) >= FRAMEZERO_FOLDER_MAX ||
        run_id_text[0])
        return EINVAL;
    fill_record(options);
    framezero_uuid_text(framezero_own_record.run_id, run_id_text);
    framezero_pending_clean(options->folder);
    unsigned ways = options->ways ? options->ways : FRAMEZERO_CRASHES;
    if (framezero_run_prepare(options->folder, run_id_text, (ways & FRAMEZERO_HANGS) != 0) < 0)
        return errno;
    if (ways & FRAMEZERO_EXCEPTIONS) {
        framezero_exceptions_install();
#ifndef FRAMEZERO_WITHOUT_CXX
        framezero_terminate_install();
#endif
    }
    if (is_debugged())
        return 0;
    if (ways & FRAMEZERO_SIGNALS)
        framezero_signals_install();
    if (ways & FRAMEZERO_MACH)
        framezero_mach_install();
    if (ways & FRAMEZERO_HANGS)
        framezero_hang_install(options->hang_ms ? options->hang_ms : 2000);
    return 0;
}

void
framezero_set_privacy(int privacy)
{
    framezero_own_record.privacy = (uint32_t)privacy;
}

void
framezero_set_user(const char *user_id)
{
    copy(framezero_own_record.user_id, sizeof(framezero_own_record.user_id), user_id);
}
