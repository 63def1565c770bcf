/*
 * Threads of a task: their registers in the layouts of mach/arm/_structs.h and mach/i386/_structs.h, names, and the
 * chain of frame pointers.
 */
#ifndef FRAMEZERO_THREADS_H
#define FRAMEZERO_THREADS_H

#include <mach/mach.h>

#include "images.h"
#include "memory.h"
#include "write.h"

enum { FRAMEZERO_THREADS = 256, FRAMEZERO_FRAMES = 256 };

#if defined(__arm64__) || defined(__aarch64__)
enum { FRAMEZERO_GENERAL_WORDS = 68, FRAMEZERO_FAULT_WORDS = 4, FRAMEZERO_VECTOR_WORDS = 132 };
#elif defined(__x86_64__)
enum { FRAMEZERO_GENERAL_WORDS = 42, FRAMEZERO_FAULT_WORDS = 4, FRAMEZERO_VECTOR_WORDS = 131 };
#else
#error "framezero's client captures arm64, arm64e, arm64_32 and x86_64"
#endif

/* As the kernel gives them; has_general is false if it did not. */
struct framezero_state {
    bool has_general, has_fault, has_vectors;
    uint32_t general[FRAMEZERO_GENERAL_WORDS];
    uint32_t fault[FRAMEZERO_FAULT_WORDS];
    uint32_t vectors[FRAMEZERO_VECTOR_WORDS];
};

void framezero_state_read(struct framezero_state *state, thread_t thread, bool with_vectors);

/* Without the bits of a signature or of Swift's async frames. */
uint64_t framezero_state_pc(const struct framezero_state *state);
uint64_t framezero_state_sp(const struct framezero_state *state);
/* Of the access that faulted; false if the state has none. */
bool framezero_state_fault_addr(const struct framezero_state *state, uint64_t *ret);

/* `registers`: all that are known as an object, or only pc, lr, sp and fp. */
void framezero_state_write(const struct framezero_state *state, bool only_addresses,
                           struct framezero_writer *w);

/* Take along what registers point to; marks the images of code addresses. */
void framezero_state_pointers(const struct framezero_state *state, mach_port_t task,
                              struct framezero_images *images, struct framezero_regions *regions);

/* pc, then return addresses, newest first. *ret_cut: there were more. */
unsigned framezero_frames_read(const struct framezero_state *state, mach_port_t task,
                               struct framezero_images *images, uint64_t frames[FRAMEZERO_FRAMES],
                               bool *ret_cut);

/* The id that the kernel's record names, 0 if unknown; the name needs no lock and no pthread. */
uint64_t framezero_thread_id(thread_t thread);
void framezero_thread_name(thread_t thread, char name[64]);

#endif
