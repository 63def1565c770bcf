/* Declarations with the names and layouts of Apple's dirent.h: just what client/ uses. */
#pragma once
#include <stdint.h>
typedef struct loader_dir DIR;
struct dirent {
    uint64_t d_ino, d_seekoff;
    uint16_t d_reclen, d_namlen;
    uint8_t d_type;
    char d_name[1024];
};
DIR *opendir(const char *);
struct dirent *readdir(DIR *);
int closedir(DIR *);
