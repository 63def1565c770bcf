/*
 * What the ways into a capture share in the app's own process: the prepared file, and who may write it.
 */
#ifndef FRAMEZERO_RUN_H
#define FRAMEZERO_RUN_H

#include "capture.h"

enum framezero_turn {
    FRAMEZERO_FIRST,  /* write the report */
    FRAMEZERO_SECOND, /* the capture itself crashed: write a short one */
    FRAMEZERO_OTHER,  /* another thread is writing: wait for the end of the process */
    FRAMEZERO_OVER,   /* it is written, or cannot be */
};

enum { FRAMEZERO_FOLDER_MAX = 700 };

/* Open the files of this run; -1 with errno. */
int framezero_run_prepare(const char *folder, const char *run_id, bool with_hangs);

/* Asked once by each handler. `thread` is the one that runs the handler. */
enum framezero_turn framezero_run_claim(thread_t thread);

/* Stop the other threads, capture, rename the file, let the threads go. After it the turn is over. */
void framezero_run_write(const struct framezero_crash *crash);

/* The same crash again, after its capture crashed: only addresses, and only of the crashed thread. */
void framezero_run_write_short(void);

/* A report of something else than a crash: the turn is given back. False: someone else writes. */
bool framezero_run_write_hang(struct framezero_crash *crash);

/* The thread that receives Mach exceptions: not stopped for a hang, where a fault of the capture would wait for it. */
void framezero_run_keep(thread_t thread);

/* What a handler that has no turn does: the process is about to end, this thread must not go on before. */
void framezero_run_wait(void);

/* Open "FOLDER/NAME.part" for a report; -1 with errno. `done` is its name when complete. */
struct framezero_file {
    int fd;
    char part[1024], done[1024];
};
int framezero_file_prepare(struct framezero_file *file, const char *folder, const char *run_id,
                           const char *suffix);
/* Synced and renamed. */
bool framezero_file_complete(struct framezero_file *file);

/* Add `text` to the text in to[size], as far as it fits. */
void framezero_text_append(char *to, size_t size, const char *text);

/* The parts of installation: each may fail and is then left out. */
void framezero_signals_install(void);
void framezero_signals_restore(void);
void framezero_mach_install(void);
/* The ports of before. Called once other threads are stopped: a fault of the capture would wait for a stopped thread. */
void framezero_mach_restore(void);
void framezero_exceptions_install(void);
void framezero_terminate_install(void); /* C++; in exceptions_cxx.cpp */
void framezero_hang_install(uint32_t hang_ms);

#endif
