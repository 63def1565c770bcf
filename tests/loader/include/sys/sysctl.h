/* Declarations with the names, values and layouts of Apple's sys/sysctl.h: just what client/ uses. */
#pragma once
#include <stddef.h>
#define CTL_KERN 1
#define KERN_PROC 14
#define KERN_PROC_PID 1
#define P_TRACED 0x800
struct kinfo_proc {
    struct {
        char start[32];
        int p_flag;
        char rest[260];
    } kp_proc;
    char kp_eproc[352];
};
int sysctl(int *, unsigned, void *, size_t *, void *, size_t);
