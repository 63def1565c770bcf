#include "base/arch/cpu.h"

#include <stddef.h>

#include "base/attr.h"

enum { ANY = 0x00ffffff }; /* no subtype has all these bits */

static const uint32_t SUBTYPE_MASK = 0x00ffffff;

/* Rows of one type: the named subtypes, then what all others of it are called. */
static const struct {
    uint32_t type, subtype;
    const char *name;
} cpus[] = {
    {0x0100000c, 2, "arm64e"},
    {0x0100000c, ANY, "arm64"},
    {0x0200000c, ANY, "arm64_32"},
    {0x01000007, 8, "x86_64h"},
    {0x01000007, ANY, "x86_64"},
    {7, ANY, "i386"},
    {12, 5, "armv4t"},
    {12, 6, "armv6"},
    {12, 7, "armv5"},
    {12, 9, "armv7"},
    {12, 10, "armv7f"},
    {12, 11, "armv7s"},
    {12, 12, "armv7k"},
    {12, 13, "armv8"},
    {12, 14, "armv6m"},
    {12, 15, "armv7m"},
    {12, 16, "armv7em"},
    {12, ANY, "arm"},
    {18, ANY, "ppc"},
    {0x01000012, ANY, "ppc64"},
};

const char *
ingest_cpu_name(uint32_t type, uint32_t subtype)
{
    subtype &= SUBTYPE_MASK;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cpus); i++) {
        if (cpus[i].type == type && (cpus[i].subtype == ANY || cpus[i].subtype == subtype))
            return cpus[i].name;
    }
    return NULL;
}
