/*
 * Mach-O machine.h, the types that Apple's platforms and corpus files have.
 *
 * A row with subtype ANY stands for every other subtype of its type.
 */
#include "base/arch/arch.h"

#include <stddef.h>
#include <strings.h>

#include "base/attr.h"

enum { ANY = 0xffffff, SUBTYPE_MASK = 0xffffff };

static const struct {
    uint32_t cputype, subtype;
    const char *name;
} names[] = {
    {SYM_CPU_ARM64, 2, "arm64e"},        {SYM_CPU_ARM64, ANY, "arm64"},
    {SYM_CPU_ARM64_32, ANY, "arm64_32"}, {SYM_CPU_X86_64, 8, "x86_64h"},
    {SYM_CPU_X86_64, ANY, "x86_64"},     {SYM_CPU_I386, ANY, "i386"},
    {SYM_CPU_ARM, 5, "armv4t"},          {SYM_CPU_ARM, 6, "armv6"},
    {SYM_CPU_ARM, 7, "armv5"},           {SYM_CPU_ARM, 9, "armv7"},
    {SYM_CPU_ARM, 10, "armv7f"},         {SYM_CPU_ARM, 11, "armv7s"},
    {SYM_CPU_ARM, 12, "armv7k"},         {SYM_CPU_ARM, 14, "armv6m"},
    {SYM_CPU_ARM, 15, "armv7m"},         {SYM_CPU_ARM, 16, "armv7em"},
    {SYM_CPU_ARM, ANY, "arm"},           {SYM_CPU_PPC, 100, "ppc970"},
    {SYM_CPU_PPC, 10, "ppc7400"},        {SYM_CPU_PPC, ANY, "ppc"},
    {SYM_CPU_PPC64, ANY, "ppc64"},
};

/* Spellings of other tools; the first matching row above gives the canonical name. */
static const struct {
    const char *alias;
    uint32_t cputype, subtype;
} aliases[] = {
    {"arm64", SYM_CPU_ARM64, 0},       {"arm-64", SYM_CPU_ARM64, 0},  {"aarch64", SYM_CPU_ARM64, 0},
    {"x86_64", SYM_CPU_X86_64, 3},     {"x86-64", SYM_CPU_X86_64, 3}, {"amd64", SYM_CPU_X86_64, 3},
    {"i386", SYM_CPU_I386, 3},         {"x86", SYM_CPU_I386, 3},      {"arm", SYM_CPU_ARM, 0},
    {"arm64_32", SYM_CPU_ARM64_32, 1}, {"ppc", SYM_CPU_PPC, 0},       {"ppc64", SYM_CPU_PPC64, 0},
};

const char *
sym_arch_name(uint32_t cputype, uint32_t cpusubtype)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        if (names[i].cputype == cputype &&
            (names[i].subtype == ANY || names[i].subtype == (cpusubtype & SUBTYPE_MASK)))
            return names[i].name;
    }
    return "unknown";
}

bool
sym_arch_parse(const char *name, uint32_t *ret_cputype, uint32_t *ret_cpusubtype)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(aliases); i++) {
        if (strcasecmp(name, aliases[i].alias) == 0) {
            *ret_cputype = aliases[i].cputype;
            *ret_cpusubtype = aliases[i].subtype;
            return true;
        }
    }
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        if (names[i].subtype != ANY && strcasecmp(name, names[i].name) == 0) {
            *ret_cputype = names[i].cputype;
            *ret_cpusubtype = names[i].subtype;
            return true;
        }
    }
    return false;
}

unsigned
sym_arch_pointer_size(uint32_t cputype)
{
    return cputype & 0x01000000u ? 8 : 4; /* CPU_ARCH_ABI64 */
}

bool
sym_arch_has_thumb(uint32_t cputype)
{
    return cputype == SYM_CPU_ARM;
}
