/* Declarations with the names and layouts of Apple's mach-o/loader.h: just what client/ uses. */
#pragma once
#include <stdint.h>

#define MH_MAGIC 0xfeedface
#define MH_MAGIC_64 0xfeedfacf
#define MH_EXECUTE 2
#define LC_SEGMENT 1
#define LC_SEGMENT_64 0x19
#define LC_UUID 0x1b

struct mach_header {
    uint32_t magic;
    int32_t cputype, cpusubtype;
    uint32_t filetype, ncmds, sizeofcmds, flags;
};
struct mach_header_64 {
    uint32_t magic;
    int32_t cputype, cpusubtype;
    uint32_t filetype, ncmds, sizeofcmds, flags, reserved;
};
struct load_command {
    uint32_t cmd, cmdsize;
};
struct uuid_command {
    uint32_t cmd, cmdsize;
    uint8_t uuid[16];
};
struct segment_command {
    uint32_t cmd, cmdsize;
    char segname[16];
    uint32_t vmaddr, vmsize, fileoff, filesize;
    int32_t maxprot, initprot;
    uint32_t nsects, flags;
};
struct segment_command_64 {
    uint32_t cmd, cmdsize;
    char segname[16];
    uint64_t vmaddr, vmsize, fileoff, filesize;
    int32_t maxprot, initprot;
    uint32_t nsects, flags;
};
struct section {
    char sectname[16], segname[16];
    uint32_t addr, size, offset, align, reloff, nreloc, flags, reserved1, reserved2;
};
struct section_64 {
    char sectname[16], segname[16];
    uint64_t addr, size;
    uint32_t offset, align, reloff, nreloc, flags, reserved1, reserved2, reserved3;
};
