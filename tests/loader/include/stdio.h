/* Declarations with the names of Apple's stdio.h: just what client/ and the test programs use. */
#pragma once
#include <stddef.h>
int printf(const char *, ...) __attribute__((format(printf, 1, 2)));
int puts(const char *);
int rename(const char *, const char *);
int snprintf(char *, size_t, const char *, ...) __attribute__((format(printf, 3, 4)));
