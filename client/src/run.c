#include "run.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <TargetConditionals.h>

/* Found by its section's name in a corpse, so the compiler must keep it and its name. */
__attribute__((section("__DATA,__framezero"), used)) struct framezero_record framezero_own_record;

enum { IDLE, WRITING, WRITING_SHORT, OVER };
enum { WAIT_STEPS = 500, WAIT_NS = 20 * 1000 * 1000 };

FRAMEZERO_WORK static struct framezero_file crash_file, hang_file;
FRAMEZERO_WORK static struct framezero_crash first_crash;
static _Atomic int phase = IDLE;
static _Atomic unsigned writer; /* the thread that writes */
static thread_t kept;

/* ---- files ------------------------------------------------------------------------------------ */

void
framezero_text_append(char *to, size_t size, const char *text)
{
    size_t at = strlen(to), n = strlen(text);
    n = n < size - 1 - at ? n : size - 1 - at;
    memcpy(to + at, text, n);
    to[at + n] = '\0';
}

int
framezero_file_prepare(struct framezero_file *file, const char *in, const char *run_id,
                       const char *suffix)
{
    file->part[0] = file->done[0] = '\0';
    framezero_text_append(file->part, sizeof(file->part), in);
    framezero_text_append(file->part, sizeof(file->part), "/");
    framezero_text_append(file->part, sizeof(file->part), run_id);
    framezero_text_append(file->part, sizeof(file->part), suffix);
    framezero_text_append(file->done, sizeof(file->done), file->part);
    framezero_text_append(file->part, sizeof(file->part), ".part");
    framezero_text_append(file->done, sizeof(file->done), ".json");
    const int flags = O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC;
#if TARGET_OS_IPHONE && !TARGET_OS_SIMULATOR
    /* Class 4, no protection: the file can be written while the device is locked. */
    file->fd = open_dprotected_np(file->part, flags, 4, 0, 0600);
#else
    file->fd = open(file->part, flags, 0600);
#endif
    return file->fd;
}

bool
framezero_file_complete(struct framezero_file *file)
{
    bool ok = fsync(file->fd) == 0;
    ok = close(file->fd) == 0 && ok;
    file->fd = -1;
    return rename(file->part, file->done) == 0 && ok;
}

/* ---- whose turn it is --------------------------------------------------------------------------- */

enum framezero_turn
framezero_run_claim(thread_t thread)
{
    int expected = IDLE;
    if (atomic_compare_exchange_strong(&phase, &expected, WRITING)) {
        atomic_store(&writer, thread);
        return crash_file.fd >= 0 ? FRAMEZERO_FIRST : FRAMEZERO_OVER;
    }
    if (expected == OVER)
        return FRAMEZERO_OVER;
    if (atomic_load(&writer) != thread)
        return FRAMEZERO_OTHER;
    expected = WRITING;
    if (!atomic_compare_exchange_strong(&phase, &expected, WRITING_SHORT) || crash_file.fd < 0)
        return FRAMEZERO_OVER;
    /* What was written so far is not a report. */
    if (ftruncate(crash_file.fd, 0) != 0 || lseek(crash_file.fd, 0, SEEK_SET) != 0)
        return FRAMEZERO_OVER;
    return FRAMEZERO_SECOND;
}

static void
write_first(void)
{
    bool ok = framezero_capture(&first_crash, &framezero_own_record, crash_file.fd);
    /* A file that is not renamed is removed at the next start. */
    if (ok)
        framezero_file_complete(&crash_file);
    atomic_store(&phase, OVER);
    framezero_threads_go();
}

void
framezero_run_write(const struct framezero_crash *crash)
{
    first_crash = *crash;
    first_crash.task = mach_task_self();
    framezero_own_record.crashed_id = framezero_thread_id(crash->crashed);
    framezero_threads_stop(crash->crashed);
    if (crash->when_stopped)
        crash->when_stopped();
    write_first();
}

void
framezero_run_write_short(void)
{
    first_crash.is_second = true;
    write_first();
}

void
framezero_run_keep(thread_t thread)
{
    kept = thread;
}

bool
framezero_run_write_hang(struct framezero_crash *crash)
{
    int expected = IDLE;
    if (hang_file.fd < 0 || !atomic_compare_exchange_strong(&phase, &expected, WRITING))
        return false;
    thread_t self = mach_thread_self();
    atomic_store(&writer, self);
    crash->task = mach_task_self();
    crash->handler = self;
    first_crash = *crash;
    framezero_threads_stop(kept);
    bool ok = framezero_capture(crash, &framezero_own_record, hang_file.fd);
    framezero_threads_go();
    if (ok)
        framezero_file_complete(&hang_file);
    mach_port_deallocate(mach_task_self(), self);
    atomic_store(&phase, IDLE);
    return ok;
}

void
framezero_run_wait(void)
{
    struct timespec pause = {.tv_nsec = WAIT_NS};
    for (int i = 0; i < WAIT_STEPS && atomic_load(&phase) != OVER; i++)
        nanosleep(&pause, NULL);
}

int
framezero_run_prepare(const char *folder, const char *run_id, bool with_hangs)
{
    hang_file.fd = -1;
    if (framezero_file_prepare(&crash_file, folder, run_id, "") < 0)
        return -1;
    if (with_hangs)
        (void)framezero_file_prepare(&hang_file, folder, run_id, "-hang");
    return 0;
}
