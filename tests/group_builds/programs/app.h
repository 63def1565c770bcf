/*
 * What the programs share. PROGRAM WAY crashes in the way that is named; labels.py has the bug of each.
 *
 * The compiler must not know what a pointer is (HIDDEN), nor end a function with a jump (AFTER).
 */
#ifndef APP_H
#define APP_H

#ifdef __cplusplus
extern "C" {
#endif
#include <stddef.h>

void *malloc(size_t);
void free(void *);
void *memcpy(void *, const void *, size_t);
size_t strlen(const char *);
void abort(void) __attribute__((noreturn));
void __assert_rtn(const char *, const char *, int, const char *) __attribute__((noreturn));
void qsort(void *, size_t, size_t, int (*)(const void *, const void *));
int pthread_mutex_lock(void *);
typedef int (*app_action)(void);
int UIApplicationMain(int, char **, app_action);
void system_call(void (*work)(void *), void *argument);

extern void *volatile app_hidden;
extern volatile int app_zero;
#ifdef __cplusplus
}
#endif

#define NOINLINE __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))
#define HIDDEN(type) ((type *)app_hidden)
#define AFTER(result) ((result) + app_zero)

/* Without a library, so that no frame of one is there. */
INLINE int
app_is(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}
#define WAY(name)           \
    if (app_is(way, #name)) \
        return name;

#endif
