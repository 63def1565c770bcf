#include "run.h"

#include "../include/framezero.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/*
 * A thread that looks whether the main thread still beats. What it writes is the main thread as it is after `hang_ms`
 * without a beat; whether the app recovers is not waited for.
 */
enum { LOOK_MS = 250, STACK = 64 * 1024 };

static uint32_t limit_ms;
static thread_t main_thread;
static _Atomic uint64_t last_beat_ms; /* 0: not watched */

static uint64_t
uptime_ms(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    /* Never 0, which stands for a pause. */
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000 + 1;
}

void
framezero_beat(void)
{
    atomic_store(&last_beat_ms, uptime_ms());
}

void
framezero_pause_beats(void)
{
    atomic_store(&last_beat_ms, 0);
}

static void *
watch(void *unused)
{
    struct timespec pause = {.tv_nsec = LOOK_MS * 1000000};
    uint64_t looked_ms = uptime_ms();
    (void)unused;
    pthread_setname_np("framezero hangs");
    for (;;) {
        nanosleep(&pause, NULL);
        uint64_t now = uptime_ms(), beat = atomic_load(&last_beat_ms);
        /* If this thread did not run either, the process was suspended or the machine asleep. */
        bool was_asleep = now - looked_ms > 4 * LOOK_MS;
        looked_ms = now;
        if (was_asleep && beat)
            framezero_beat();
        if (was_asleep || beat == 0 || now < beat || now - beat < limit_ms)
            continue;
        struct framezero_crash crash = {
            .way = "hang", .crashed = main_thread, .hang_ms = (uint32_t)(now - beat)};
        if (framezero_run_write_hang(&crash))
            return NULL;
    }
}

void
framezero_hang_install(uint32_t hang_ms)
{
    pthread_attr_t attributes;
    pthread_t thread;
    limit_ms = hang_ms;
    main_thread = mach_thread_self();
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK);
    (void)pthread_create(&thread, &attributes, watch, NULL);
    pthread_attr_destroy(&attributes);
}
