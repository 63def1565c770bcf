/* Declarations with the names of Apple's pthread.h: just what client/ and the test programs use. */
#pragma once
#include <stddef.h>

typedef struct _opaque_pthread_t *pthread_t;
typedef struct {
    long words[8];
} pthread_attr_t;
#define PTHREAD_CREATE_DETACHED 2
int pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int pthread_join(pthread_t, void **);
int pthread_setname_np(const char *);
int pthread_attr_init(pthread_attr_t *);
int pthread_attr_destroy(pthread_attr_t *);
int pthread_attr_setdetachstate(pthread_attr_t *, int);
int pthread_attr_setstacksize(pthread_attr_t *, size_t);
