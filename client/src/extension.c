#include "run.h"

#include "../include/framezero.h"
#include "corpse.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * The work of a CrashReporterExtension: a corpse in, a file out. Nothing is suspended, since nothing runs; nothing of the
 * extension's own process is read. The system may call it for several corpses at once: one after the other.
 */
enum { WAIT_STEPS = 500, WAIT_NS = 20 * 1000 * 1000, RECORD_MAX = 1024 * 1024 };

/* Not declared in the public SDK, so looked up by name; without it the record is left out. */
typedef kern_return_t (*map_corpse_fn)(mach_port_t task, mach_port_t corpse, uint64_t *ret_addr,
                                       uint64_t *ret_size);

static atomic_flag is_busy = ATOMIC_FLAG_INIT;

static void
read_kernel_record(mach_port_t corpse, struct framezero_corpse *ret)
{
    uint64_t addr = 0, size = 0;
    map_corpse_fn map = (map_corpse_fn)dlsym(RTLD_DEFAULT, "task_map_corpse_info_64");
    memset(ret, 0, sizeof(*ret));
    if (!map || map(mach_task_self(), corpse, &addr, &size) != KERN_SUCCESS || !addr)
        return;
    /* The kernel made this memory in the extension's own process. */
    framezero_corpse_parse((const uint8_t *)(uintptr_t)addr,
                           size < RECORD_MAX ? (size_t)size : RECORD_MAX, ret);
    vm_deallocate(mach_task_self(), (vm_address_t)addr, (vm_size_t)size);
}

static void
copy_if_empty(char *to, size_t size, const char *from)
{
    if (!to[0] && from)
        strlcpy(to, from, size);
}

/* What the app left, completed by what the extension knows. */
static void
complete_record(struct framezero_record *r, const struct framezero_options *options, bool is_there)
{
    if (!is_there)
        arc4random_buf(r->run_id, sizeof(r->run_id));
    if (!is_there || (uint32_t)options->privacy < r->privacy)
        r->privacy = (uint32_t)options->privacy;
    copy_if_empty(r->app_id, sizeof(r->app_id), options->app_id);
    copy_if_empty(r->app_name, sizeof(r->app_name), options->app_name);
    copy_if_empty(r->os_name, sizeof(r->os_name), options->os_name);
    copy_if_empty(r->os_version, sizeof(r->os_version), options->os_version);
    copy_if_empty(r->os_build, sizeof(r->os_build), options->os_build);
    copy_if_empty(r->device_model, sizeof(r->device_model), options->device_model);
    copy_if_empty(r->user_id, sizeof(r->user_id), options->user_id);
    /* The version on disk may be newer than the one that crashed: only if the app said nothing. */
    if (!is_there) {
        copy_if_empty(r->app_version, sizeof(r->app_version), options->app_version);
        copy_if_empty(r->app_build, sizeof(r->app_build), options->app_build);
    }
}

static int
capture(mach_port_t task, int exception, const struct framezero_options *options)
{
    FRAMEZERO_WORK static struct framezero_record record;
    FRAMEZERO_WORK static struct framezero_corpse corpse;
    FRAMEZERO_WORK static struct framezero_file file;
    char id[37];

    read_kernel_record(task, &corpse);
    const struct framezero_images *images = framezero_capture_images(task);
    complete_record(&record, options, framezero_images_record(images, task, &record));
    struct framezero_crash crash = {.task = task,
                                    .way = "corpse",
                                    .crashed_id = corpse.has_crashed_id ? corpse.crashed_id
                                                                        : record.crashed_id,
                                    .n_codes = corpse.has_codes ? 2 : 0,
                                    .codes = {corpse.codes[0], corpse.codes[1]},
                                    .has_exit_reason = corpse.has_exit_reason,
                                    .exit_namespace = corpse.exit_namespace,
                                    .exit_code = corpse.exit_code,
                                    .exit_text = corpse.exit_text};
    if (exception == 0)
        exception = (int)corpse.exception;
    crash.signal = framezero_corpse_signal(&corpse, exception, &crash.exception);
    crash.has_addr = corpse.has_codes && crash.exception == EXC_BAD_ACCESS;
    crash.addr = corpse.codes[1];

    framezero_uuid_text(record.run_id, id);
    if (framezero_file_prepare(&file, options->folder, id, "-corpse") < 0)
        return errno;
    if (framezero_capture(&crash, &record, file.fd))
        return framezero_file_complete(&file) ? 0 : EIO;
    close(file.fd);
    unlink(file.part);
    return EIO;
}

int
framezero_capture_corpse(unsigned corpse, int exception, const struct framezero_options *options)
{
    struct timespec pause = {.tv_nsec = WAIT_NS};
    if (!options || !options->folder || strlen(options->folder) >= FRAMEZERO_FOLDER_MAX)
        return EINVAL;
    for (int i = 0; atomic_flag_test_and_set(&is_busy); i++) {
        if (i == WAIT_STEPS)
            return EBUSY;
        nanosleep(&pause, NULL);
    }
    int code = capture(corpse, exception, options);
    atomic_flag_clear(&is_busy);
    return code;
}
