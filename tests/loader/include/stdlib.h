/* Declarations with the names of Apple's stdlib.h: just what client/ and the test programs use. */
#pragma once
#include <stddef.h>
void *malloc(size_t);
void *calloc(size_t, size_t);
void *realloc(void *, size_t);
void free(void *);
void abort(void) __attribute__((noreturn));
void exit(int) __attribute__((noreturn));
char *getenv(const char *);
void arc4random_buf(void *, size_t);
