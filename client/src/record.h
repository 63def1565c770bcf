/*
 * What installation leaves for the capture, in a section of its own of the app's data: __DATA,__framezero.
 *
 * The handler reads it in its own process; the extension finds it by section name in the corpse, so that its report says
 * which run, which version of the app and which privacy level it was. The names of sections survive stripping.
 */
#ifndef FRAMEZERO_RECORD_H
#define FRAMEZERO_RECORD_H

#include <stdint.h>

#define FRAMEZERO_RECORD_MAGIC "framezero-run-1"
#define FRAMEZERO_RECORD_SEGMENT "__DATA"
#define FRAMEZERO_RECORD_SECTION "__framezero"

/* Work memory of this library is zero until a crash, and apart from the app's own variables, which reports include. */
#ifndef FRAMEZERO_WORK
#define FRAMEZERO_WORK __attribute__((section("__DATA,__fz_work,zerofill")))
#endif

enum { FRAMEZERO_THROW_MAX = 64 };

struct framezero_exception {
    uint32_t is_set;
    uint32_t n_addresses;
    char name[128];
    char reason[1024];
    uint64_t addresses[FRAMEZERO_THROW_MAX]; /* of the throw, newest first */
};

struct framezero_record {
    char magic[16]; /* FRAMEZERO_RECORD_MAGIC after installation */
    uint32_t size;
    uint32_t privacy; /* enum framezero_privacy */
    uint8_t run_id[16];
    uint64_t started_ms; /* since 1970 */
    uint64_t crashed_id; /* of the thread, set by a handler in the process */
    char app_id[128];
    char app_name[64];
    char app_version[32];
    char app_build[32];
    char os_name[16];
    char os_version[32];
    char os_build[32];
    char device_model[32];
    char user_id[128];
    struct framezero_exception exception;
};

extern struct framezero_record framezero_own_record; /* of this process */

#endif
