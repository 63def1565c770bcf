/*
 * The one routine that reads a crash through a task port and writes its report: for a handler of signals, a thread for
 * Mach exceptions, the watch for hangs, and an extension that holds a corpse.
 *
 * No allocation, no lock, no pointer into the crashed task. All work memory is static: one capture at a time.
 */
#ifndef FRAMEZERO_CAPTURE_H
#define FRAMEZERO_CAPTURE_H

#include <mach/mach.h>

#include "record.h"
#include "threads.h"

enum {
    FRAMEZERO_STACK_CRASHED = 64 * 1024,
    FRAMEZERO_STACK_OTHER = 8 * 1024,
    FRAMEZERO_RED_ZONE = 128,       /* below sp, used by leaf functions of arm64 and x86_64 */
    FRAMEZERO_DATA_MAX = 64 * 1024, /* of the program's variables */
};

/* What is known of the crash. */
struct framezero_crash {
    mach_port_t task;
    const char *way;                     /* "signal", "mach", "corpse", "hang" */
    thread_t crashed;                    /* 0: find it by its id, or by what it does */
    uint64_t crashed_id;                 /* 0: not known */
    thread_t handler;                    /* not part of the report, 0 if there is none */
    const struct framezero_state *state; /* of the crashed thread; NULL: the kernel is asked */
    bool is_second; /* the first capture crashed: only the crashed thread, only addresses */
    int signal;     /* 0: none */
    int exception;  /* EXC_…, 0: none */
    unsigned n_codes;
    uint64_t codes[2];
    bool has_addr;
    uint64_t addr;
    uint32_t hang_ms;
    uint32_t exit_namespace; /* with has_exit_reason */
    uint64_t exit_code;
    bool has_exit_reason;
    const char *exit_text;
    void (*when_stopped)(void); /* called once the other threads of this process are stopped */
};

/*
 * Write the report to `fd`. `record`: what installation left. True if it is complete.
 *
 * Other threads must be suspended already if the task is this process.
 */
bool framezero_capture(const struct framezero_crash *crash, const struct framezero_record *record,
                       int fd);

/* The images of the task of the last capture or of this call: for what the extension needs before. */
struct framezero_images *framezero_capture_images(mach_port_t task);

/* All threads of this process but the calling one and `except`. */
void framezero_threads_stop(thread_t except);
void framezero_threads_go(void);

#endif
