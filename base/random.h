/*
 * Random bytes from the operating system.
 */
#ifndef FZ_RANDOM_H
#define FZ_RANDOM_H

#include <stddef.h>

/* Cryptographically strong random bytes. Aborts if the system has none. */
void fz_random(void *ret, size_t len);

#endif
