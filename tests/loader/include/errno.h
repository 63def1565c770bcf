/* Declarations with the names and values of Apple's errno.h: just what client/ uses. */
#pragma once
int *__error(void);
#define errno (*__error())
#define EINTR 4
#define EIO 5
#define EBUSY 16
#define EINVAL 22
