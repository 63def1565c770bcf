/* Declarations with the names and values of Apple's dlfcn.h: just what client/ uses. */
#pragma once
#define RTLD_DEFAULT ((void *)-2)
void *dlsym(void *, const char *);
