/* Declarations with the names and layouts of Apple's sys/stat.h (64-bit inodes): just what client/ uses. */
#pragma once
#include <stdint.h>
#include <time.h>
struct stat {
    int32_t st_dev;
    uint16_t st_mode, st_nlink;
    uint64_t st_ino;
    uint32_t st_uid, st_gid;
    int32_t st_rdev;
    struct timespec st_atimespec, st_mtimespec, st_ctimespec, st_birthtimespec;
    int64_t st_size, st_blocks;
    int32_t st_blksize;
    uint32_t st_flags, st_gen;
    int32_t st_lspare;
    int64_t st_qspare[2];
};
#define st_mtime st_mtimespec.tv_sec
int stat(const char *, struct stat *);
