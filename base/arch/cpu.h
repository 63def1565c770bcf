/*
 * Mach-O cpu types to the names that images and symbol files go by. Private to this folder.
 *
 * Source: Mach-O machine.h. The symbolicator has the same table; ingest may not use it.
 */
#ifndef BASE_ARCH_CPU_H
#define BASE_ARCH_CPU_H

#include <stdint.h>

/* "arm64", "arm64e", "arm64_32", "armv7", "armv7s", "x86_64", "x86_64h", "i386"...; NULL if
 * unknown. The high byte of a subtype holds capability bits and is ignored. Static string. */
const char *ingest_cpu_name(uint32_t type, uint32_t subtype);

#endif
