/*
 * Names of signals, Mach exceptions and their codes, by number. Private to server/ingest.
 *
 * Sources: xnu's sys/signal.h, mach/exception_types.h, mach/kern_return.h, mach/i386/exception.h,
 * mach/arm/exception.h; which signal follows which exception: bsd/uxkern/ux_exception.c. All
 * strings are static; NULL where the number has no name.
 */
#ifndef INGEST_COMMON_EXCEPTION_NAMES_H
#define INGEST_COMMON_EXCEPTION_NAMES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    MACH_EXC_BAD_ACCESS = 1,
    MACH_EXC_BAD_INSTRUCTION = 2,
    MACH_EXC_ARITHMETIC = 3,
    MACH_EXC_SOFTWARE = 5,
    MACH_EXC_BREAKPOINT = 6,
    MACH_EXC_CRASH = 10,
    MACH_EXC_RESOURCE = 11,
    MACH_EXC_GUARD = 12,
};

/* The numbers of Darwin: 11 is "SIGSEGV", 10 is "SIGBUS". */
const char *ingest_signal_name(int64_t number);

/* What siginfo's si_code says of a signal: 2 of SIGSEGV is "SEGV_ACCERR". */
const char *ingest_signal_code(int64_t number, int64_t code);

/* "EXC_BAD_ACCESS" */
const char *ingest_mach_exception(uint64_t type);

/* The number of "EXC_BAD_ACCESS"; 0 for other texts and NULL. */
uint64_t ingest_mach_type(const char *name);

/* What code[0] of an exception says: "KERN_INVALID_ADDRESS". The names of most exceptions' codes
 * differ between processors; `arm` is true for all ARM ones. Of EXC_RESOURCE and EXC_GUARD, whose
 * codes have the type in their highest bits: "CPU_FATAL", "GUARD_TYPE_FD", in Apple's spelling. */
const char *ingest_mach_code(uint64_t type, uint64_t code, bool arm);

/* The signal that the kernel turns an exception into: its number, 0 for none. */
int ingest_mach_signal(uint64_t type, uint64_t code, uint64_t subcode);

/* The namespace of an exit reason, as Apple's reports write it: 10 is "SPRINGBOARD" (sys/reason.h). */
const char *ingest_exit_namespace(uint64_t number);

#endif
