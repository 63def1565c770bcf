/*
 * A loader of Mach-O programs on Linux: what its parts share.
 *
 * usage: loader [--slide HEX] [--dump FILE] [--steps FILE] [--library FILE] [--extension FILE] PROGRAM [ARGUMENT...]
 *
 * The program's imports are bound to the functions of shims.c and its neighbours, which take Darwin's structures and
 * numbers and do what Darwin does with Linux's calls. The same source runs x86_64 programs natively and, built for
 * aarch64 Linux, arm64 programs under qemu-aarch64.
 */
#ifndef LOADER_H
#define LOADER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cpu.h"
#include "macho.h"

enum {
    LOADER_THREADS = 512,
    LOADER_STACK = 1024 * 1024,
    LOADER_IMAGES = 8,
    LOADER_TASK = 0x203, /* mach_task_self_ */
    LOADER_CORPSE = 0x103,
    LOADER_THREAD_PORT = 0x1003, /* of the first thread; the others follow in steps of 0x100 */
};

enum loader_freeze { LOADER_RUNS, LOADER_STOP_ASKED, LOADER_FROZEN };

/* In memory that a parent shares, so that it can read a dead child's threads. */
struct loader_thread {
    bool used;
    pid_t tid;
    uint64_t id;
    char name[64];
    uint64_t stack_low, stack_top;
    volatile int freeze;   /* enum loader_freeze */
    volatile int suspends; /* thread_suspend() calls without their thread_resume() */
    struct cpu_all cpu;    /* valid while frozen */
};

struct loader_shared {
    struct loader_thread threads[LOADER_THREADS];
    volatile int dead; /* set by a child that died: what follows is valid */
    int crashed;       /* index of the crashed thread */
    int signal;        /* Darwin's number */
    int exception;     /* Mach exception type */
    uint64_t codes[2];
    uint64_t dyld_infos; /* address in the child */
    pid_t pid;
};

extern struct loader_shared *loader_shared;
extern struct macho *loader_images[LOADER_IMAGES];
extern unsigned loader_n_images;
extern const char *loader_dump_path; /* NULL: no dump */
extern bool loader_allocation_is_fatal;
extern struct loader_shared *loader_corpse; /* NULL: there is no dead child */

/* mach_task.c: fill this process's list of images, as dyld does; its address. */
uint64_t loader_infos_make(void);

/* threads.c */
struct loader_thread *loader_thread_self(void);
struct loader_thread *loader_thread_of_port(uint32_t port);
uint32_t loader_port_of_thread(const struct loader_thread *thread);
struct loader_thread *loader_thread_register(void);
void loader_thread_alternate_stack(void);
uint64_t loader_stack_make(uint64_t *ret_low);
void loader_stop_others(void);
void loader_threads_install(void);

/* signals.c: Linux's signals become Mach exceptions, Darwin's signals, a dump or the end, in this order. */
void loader_signals_install(void);
int loader_signal_to_linux(int darwin);
int loader_signal_to_darwin(int linux_signal);

/* mach_messages.c: gives an exception to the program's own handler. True: the thread goes on. */
bool loader_exception_raise(struct loader_thread *thread, int type, const uint64_t codes[2]);

/* shims.c */
uint64_t loader_resolve(const char *name);

struct loader_symbol {
    const char *name;
    void *value;
};
extern const struct loader_symbol loader_symbols_mach[], loader_symbols_signals[],
    loader_symbols_threads[], loader_symbols_messages[], loader_symbols_objc[],
    loader_symbols_cxx[];

/* dump.c: registers, stacks and memory of this process as a native report. */
void loader_dump(const struct loader_thread *crashed, int darwin_signal, uint64_t fault_addr);

void loader_dump_thread(FILE *out, const struct loader_thread *thread, bool crashed);
void loader_dump_images(FILE *out);

/* steps.c: the program's state at every instruction. loader_step(): true if the trap was one of its own. */
void loader_steps_open(const char *path);
void loader_steps_begin(uint64_t entry);
void loader_steps_close(void);
bool loader_steps_wanted(void);
bool loader_step(struct loader_thread *thread, ucontext_t *context);

/* maps.c: memory of this process or of `pid`. */
struct loader_region {
    uint64_t addr, size;
    int protection; /* of PROT_* */
};
void loader_maps_forget(void); /* the memory may have changed since the last call */
bool loader_region_at(pid_t pid, uint64_t addr, struct loader_region *ret); /* the next one, too */
bool loader_memory_read(pid_t pid, uint64_t addr, void *to, uint64_t size);

#endif
