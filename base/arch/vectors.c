#include "base/arch/vectors.h"

#include <stddef.h>
#include <string.h>

#include "base/attr.h"

/* A run of DWARF numbers: `n` registers of `size` bytes from `number` on. */
struct numbers {
    uint16_t number;
    uint8_t n, size;
};

/* A letter or word before a register's index: `n` registers of `size` bytes, `step` apart. */
struct spelling {
    const char *prefix;
    uint8_t n, size, step;
};

static const struct numbers arm64_numbers[] = {{64, 32, 16}};
/* Old compilers number the single ones (64), newer ones the double ones (256). */
static const struct numbers arm_numbers[] = {{64, 32, 4}, {256, 32, 8}};
static const struct numbers x86_64_numbers[] = {{17, 16, 16}};
static const struct numbers x86_numbers[] = {{21, 8, 16}};

/* The first one is the name. */
static const struct spelling arm64_spellings[] = {{"v", 32, 16, 16}, {"q", 32, 16, 16},
                                                  {"d", 32, 8, 16},  {"s", 32, 4, 16},
                                                  {"h", 32, 2, 16},  {"b", 32, 1, 16}};
static const struct spelling arm_spellings[] = {
    {"d", 32, 8, 8}, {"s", 32, 4, 4}, {"q", 16, 16, 16}};
static const struct spelling x86_64_spellings[] = {{"xmm", 16, 16, 16}};
static const struct spelling x86_spellings[] = {{"xmm", 8, 16, 16}};

static const struct {
    unsigned n, size;
    const struct numbers *numbers;
    size_t n_numbers;
    const struct spelling *spellings;
    size_t n_spellings;
} cpus[] = {
    [FZ_CPU_UNKNOWN] = {0, 0, NULL, 0, NULL, 0},
    [FZ_CPU_ARM64] = {32, 16, arm64_numbers, FZ_ARRAY_LEN(arm64_numbers), arm64_spellings,
                      FZ_ARRAY_LEN(arm64_spellings)},
    [FZ_CPU_ARM] = {32, 8, arm_numbers, FZ_ARRAY_LEN(arm_numbers), arm_spellings,
                    FZ_ARRAY_LEN(arm_spellings)},
    [FZ_CPU_X86_64] = {16, 16, x86_64_numbers, FZ_ARRAY_LEN(x86_64_numbers), x86_64_spellings,
                       FZ_ARRAY_LEN(x86_64_spellings)},
    [FZ_CPU_X86] = {8, 16, x86_numbers, FZ_ARRAY_LEN(x86_numbers), x86_spellings,
                    FZ_ARRAY_LEN(x86_spellings)},
};

unsigned
fz_arch_vectors(enum fz_arch_cpu cpu)
{
    return cpus[cpu].n;
}

unsigned
fz_arch_vector_size(enum fz_arch_cpu cpu)
{
    return cpus[cpu].size;
}

/* The register that holds byte `at` of all of them in a row. */
static struct fz_arch_vector
vector_at(enum fz_arch_cpu cpu, unsigned at, unsigned size)
{
    return (struct fz_arch_vector){.index = (uint8_t)(at / cpus[cpu].size),
                                   .offset = (uint8_t)(at % cpus[cpu].size),
                                   .size = (uint8_t)size};
}

bool
fz_arch_vector_of_number(enum fz_arch_cpu cpu, unsigned number, struct fz_arch_vector *ret)
{
    for (size_t i = 0; i < cpus[cpu].n_numbers; i++) {
        const struct numbers *run = &cpus[cpu].numbers[i];
        if (number >= run->number && number - run->number < run->n) {
            *ret = vector_at(cpu, (number - run->number) * run->size, run->size);
            return true;
        }
    }
    return false;
}

/* "0" to "99" without a leading zero; false if the text is anything else. */
static bool
parse_index(const char *text, unsigned *ret)
{
    unsigned value = 0;
    size_t len = strlen(text);
    if (len == 0 || len > 2 || (len == 2 && text[0] == '0'))
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (unsigned)(text[i] - '0');
    }
    *ret = value;
    return true;
}

bool
fz_arch_vector_of_name(enum fz_arch_cpu cpu, const char *name, struct fz_arch_vector *ret)
{
    for (size_t i = 0; i < cpus[cpu].n_spellings; i++) {
        const struct spelling *spelling = &cpus[cpu].spellings[i];
        size_t len = strlen(spelling->prefix);
        unsigned index;
        if (strncmp(name, spelling->prefix, len) == 0 && parse_index(name + len, &index) &&
            index < spelling->n) {
            *ret = vector_at(cpu, index * spelling->step, spelling->size);
            return true;
        }
    }
    return false;
}

const char *
fz_arch_vector_name(enum fz_arch_cpu cpu, unsigned index)
{
    static const char *const v[] = {"v0",  "v1",  "v2",  "v3",  "v4",  "v5",  "v6",  "v7",
                                    "v8",  "v9",  "v10", "v11", "v12", "v13", "v14", "v15",
                                    "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23",
                                    "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31"};
    static const char *const d[] = {"d0",  "d1",  "d2",  "d3",  "d4",  "d5",  "d6",  "d7",
                                    "d8",  "d9",  "d10", "d11", "d12", "d13", "d14", "d15",
                                    "d16", "d17", "d18", "d19", "d20", "d21", "d22", "d23",
                                    "d24", "d25", "d26", "d27", "d28", "d29", "d30", "d31"};
    static const char *const xmm[] = {"xmm0",  "xmm1",  "xmm2",  "xmm3", "xmm4",  "xmm5",
                                      "xmm6",  "xmm7",  "xmm8",  "xmm9", "xmm10", "xmm11",
                                      "xmm12", "xmm13", "xmm14", "xmm15"};
    if (index >= cpus[cpu].n)
        return NULL;
    return cpu == FZ_CPU_ARM64 ? v[index] : cpu == FZ_CPU_ARM ? d[index] : xmm[index];
}
