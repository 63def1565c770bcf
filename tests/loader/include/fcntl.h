/* Declarations with the names and values of Apple's fcntl.h: just what client/ uses. */
#pragma once
#define O_WRONLY 1
#define O_CREAT 0x200
#define O_TRUNC 0x400
#define O_CLOEXEC 0x1000000
int open(const char *, int, ...);
int open_dprotected_np(const char *, int, int, int, ...);
