/*
 * The kernel's record of a crash (xnu, osfmk/kern/kcdata.h), as task_map_corpse_info_64() gives it.
 */
#ifndef FRAMEZERO_CORPSE_H
#define FRAMEZERO_CORPSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Texts end with a zero; what the record lacks is 0 or false. */
struct framezero_corpse {
    bool has_codes, has_crashed_id, has_exit_reason;
    uint64_t codes[2];
    uint64_t crashed_id;
    uint32_t exception;
    uint32_t exit_namespace; /* 1 memory, 2 signal, 3 code signing, 6 dyld, 20 watchdog, 23 guard */
    uint64_t exit_code, exit_flags;
    char exit_text[1024];
};

/* Reads as far as the record is well formed; false if its beginning is not. */
bool framezero_corpse_parse(const uint8_t *bytes, size_t n, struct framezero_corpse *ret);

/* The signal and the original exception in the first code of an exception that no one handled. */
int framezero_corpse_signal(const struct framezero_corpse *corpse, int exception,
                            int *ret_exception);

#endif
