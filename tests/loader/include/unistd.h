/* Declarations with the names of Apple's unistd.h: just what client/ and the test programs use. */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef long ssize_t;
typedef int64_t off_t;
#define SEEK_SET 0
ssize_t write(int, const void *, size_t);
int close(int);
int fsync(int);
int ftruncate(int, off_t);
off_t lseek(int, off_t, int);
int unlink(const char *);
int getpid(void);
int usleep(unsigned);
void _exit(int) __attribute__((noreturn));
