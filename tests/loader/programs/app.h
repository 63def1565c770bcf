/*
 * What the test programs share: each installs the client, prints what is true, and crashes in the way that its second
 * argument names.
 *
 *   PROGRAM FOLDER WAY [WAYS [LEVEL]]    FOLDER: for reports; WAYS: of enum framezero_ways; LEVEL: of privacy
 *
 * Printed lines: "C outer inner …" the chain of calls, innermost first; "T function variable value"; "R id" the run.
 */
#ifndef APP_H
#define APP_H

#ifdef __cplusplus
extern "C" {
#endif
#include "../../../client/include/framezero.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __cplusplus
}
#endif

#define NOINLINE __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))
#define CHAIN(...) puts("C " __VA_ARGS__)
#define TRUTH(variable, format, value) printf("T %s " variable " " format "\n", __func__, value)

/* The compiler must not know what is behind a pointer, nor end a function with a jump. */
extern void *volatile app_hidden;
#define AFTER(result) (app_hidden = (void *)(long)(result), (result) + (int)(long)app_hidden)

#ifdef __cplusplus
extern "C" {
#endif
void loader_forbid_allocation(void);
static int app_start(int argc, char **argv);
#ifdef __cplusplus
}
#endif

/* 0 if the client is installed. */
static int
app_start(int argc, char **argv)
{
    struct framezero_options options;
    memset(&options, 0, sizeof(options));
    if (argc < 3)
        return 2;
    options.folder = argv[1];
    options.app_id = "com.acme.shop";
    options.app_name = "Shop";
    options.app_version = "4.2";
    options.app_build = "4201";
    options.os_name = "iOS";
    options.os_version = "18.1";
    options.device_model = "iPhone15,2";
    options.user_id = "user-7";
    options.hang_ms = 300;
    options.ways = argc > 3 ? (unsigned)(argv[3][0] - '0') : FRAMEZERO_CRASHES;
    if (argc > 3 && argv[3][1])
        options.ways = 10 * options.ways + (unsigned)(argv[3][1] - '0');
    options.privacy = argc > 4 ? argv[4][0] - '0' : FRAMEZERO_VALUES;
    int code = framezero_install(&options);
    if (code)
        printf("framezero_install: %d\n", code);
    printf("R %s\n", framezero_run_id());
    if (getenv("FORBID_ALLOCATION"))
        loader_forbid_allocation();
    return code;
}

#endif
