#include "base/arch/arch.h"

#include <strings.h>

#include "base/attr.h"

enum { ANY = 0xffffff, SUBTYPE_MASK = 0xffffff };

/* Rows of one type: its named subtypes, then with ANY what all others of it are called. */
static const struct {
    uint32_t cputype, subtype;
    const char *name;
} names[] = {
    {FZ_ARCH_ARM64, 2, "arm64e"},        {FZ_ARCH_ARM64, ANY, "arm64"},
    {FZ_ARCH_ARM64_32, ANY, "arm64_32"}, {FZ_ARCH_X86_64, 8, "x86_64h"},
    {FZ_ARCH_X86_64, ANY, "x86_64"},     {FZ_ARCH_I386, ANY, "i386"},
    {FZ_ARCH_ARM, 5, "armv4t"},          {FZ_ARCH_ARM, 6, "armv6"},
    {FZ_ARCH_ARM, 7, "armv5"},           {FZ_ARCH_ARM, 9, "armv7"},
    {FZ_ARCH_ARM, 10, "armv7f"},         {FZ_ARCH_ARM, 11, "armv7s"},
    {FZ_ARCH_ARM, 12, "armv7k"},         {FZ_ARCH_ARM, 13, "armv8"},
    {FZ_ARCH_ARM, 14, "armv6m"},         {FZ_ARCH_ARM, 15, "armv7m"},
    {FZ_ARCH_ARM, 16, "armv7em"},        {FZ_ARCH_ARM, ANY, "arm"},
    {FZ_ARCH_PPC, 100, "ppc970"},        {FZ_ARCH_PPC, 10, "ppc7400"},
    {FZ_ARCH_PPC, ANY, "ppc"},           {FZ_ARCH_PPC64, ANY, "ppc64"},
};

/* Names that a row with ANY has, with the subtype that a parsed name gets, and spellings of other
 * tools. */
static const struct {
    const char *alias;
    uint32_t cputype, subtype;
} aliases[] = {
    {"arm64", FZ_ARCH_ARM64, 0},   {"arm-64", FZ_ARCH_ARM64, 0},
    {"aarch64", FZ_ARCH_ARM64, 0}, {"arm64-v8a", FZ_ARCH_ARM64, 0},
    {"x86_64", FZ_ARCH_X86_64, 3}, {"x86-64", FZ_ARCH_X86_64, 3},
    {"amd64", FZ_ARCH_X86_64, 3},  {"x64", FZ_ARCH_X86_64, 3},
    {"i386", FZ_ARCH_I386, 3},     {"i486", FZ_ARCH_I386, 3},
    {"i686", FZ_ARCH_I386, 3},     {"x86", FZ_ARCH_I386, 3},
    {"arm", FZ_ARCH_ARM, 0},       {"arm64_32", FZ_ARCH_ARM64_32, 1},
    {"ppc", FZ_ARCH_PPC, 0},       {"ppc64", FZ_ARCH_PPC64, 0},
};

const char *
fz_arch_known_name(uint32_t cputype, uint32_t cpusubtype)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        /* The highest byte of a subtype holds capabilities (CPU_SUBTYPE_MASK). */
        if (names[i].cputype == cputype &&
            (names[i].subtype == ANY || names[i].subtype == (cpusubtype & SUBTYPE_MASK)))
            return names[i].name;
    }
    return NULL;
}

const char *
fz_arch_name(uint32_t cputype, uint32_t cpusubtype)
{
    const char *name = fz_arch_known_name(cputype, cpusubtype);
    return name ? name : "unknown";
}

bool
fz_arch_is_name(struct fz_span word)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        if (fz_span_is(word, names[i].name))
            return true;
    }
    return false;
}

bool
fz_arch_parse(const char *name, uint32_t *ret_cputype, uint32_t *ret_cpusubtype)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(aliases); i++) {
        if (strcasecmp(name, aliases[i].alias) == 0) {
            *ret_cputype = aliases[i].cputype;
            *ret_cpusubtype = aliases[i].subtype;
            return true;
        }
    }
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        /* Rows with ANY are among the aliases, with the subtype that a name means. */
        if (names[i].subtype != ANY && strcasecmp(name, names[i].name) == 0) {
            *ret_cputype = names[i].cputype;
            *ret_cpusubtype = names[i].subtype;
            return true;
        }
    }
    return false;
}

const char *
fz_arch_canonical(const char *name)
{
    uint32_t cputype, cpusubtype;
    if (!name || !fz_arch_parse(name, &cputype, &cpusubtype))
        return NULL;
    return fz_arch_known_name(cputype, cpusubtype);
}

const char *
fz_arch_of_code_type(struct fz_span code_type)
{
    /* The first prefix that fits: the longer ones of a family come first. A report of the 32-bit
     * systems only ever says "ARM", and armv7 is what nearly all of their devices have. */
    static const struct {
        const char *prefix, *arch;
    } types[] = {{"ARM-64", "arm64"},  {"ARM64", "arm64"},   {"ARM", "armv7"}, {"X86-64", "x86_64"},
                 {"x86-64", "x86_64"}, {"x86_64", "x86_64"}, {"X86", "i386"},  {"i386", "i386"},
                 {"PPC-64", "ppc64"},  {"PPC", "ppc"}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(types); i++) {
        size_t len = strlen(types[i].prefix);
        if (code_type.len >= len && memcmp(code_type.data, types[i].prefix, len) == 0)
            return types[i].arch;
    }
    return NULL;
}

bool
fz_arch_is_arm(const char *name)
{
    return name && strncmp(name, "arm", 3) == 0;
}

unsigned
fz_arch_pointer_size(uint32_t cputype)
{
    return cputype & 0x01000000u ? 8 : 4; /* CPU_ARCH_ABI64 */
}

bool
fz_arch_has_thumb(uint32_t cputype)
{
    return cputype == FZ_ARCH_ARM;
}
