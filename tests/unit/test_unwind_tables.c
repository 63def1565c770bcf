/* Compact unwind information, its encodings, call frame information, expressions. */
#include <stdlib.h>
#include <sys/resource.h>

#include "symbolicator/dwarf/libdwarf_frame.h"
#include "symbolicator/unwind/encoding.h"
#include "symbolicator/unwind/expression.h"
#include "tests/unit/unwind_case.h"

#include "base/buffer.h"

static const uint64_t S = 0x7ff000;

static void
put(struct fz_buffer *out, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        fz_buffer_char(out, (char)(value >> (8 * i)));
}

/* Two pages: a regular one from 0x1000 on, a compressed one from 0x3000 on; code ends at 0x5000. */
static void
write_unwind_info(struct fz_buffer *out)
{
    enum { COMMON = 28, INDEX = 36, REGULAR = INDEX + 36, COMPRESSED = REGULAR + 8 + 16 };
    const uint32_t head[] = {1, COMMON, 2, 0, 0, INDEX, 3};
    for (size_t i = 0; i < FZ_ARRAY_LEN(head); i++)
        put(out, head[i], 4);
    put(out, 0x04000001, 4);
    put(out, 0x02001000, 4);
    const uint32_t index[] = {0x1000, REGULAR, 0, 0x3000, COMPRESSED, 0, 0x5000, 0, 0};
    for (size_t i = 0; i < FZ_ARRAY_LEN(index); i++)
        put(out, index[i], 4);
    put(out, 2, 4);
    put(out, 8, 2);
    put(out, 2, 2);
    const uint32_t entries[] = {0x1000, 0x11111111, 0x2000, 0x22222222};
    for (size_t i = 0; i < FZ_ARRAY_LEN(entries); i++)
        put(out, entries[i], 4);
    put(out, 3, 4);
    put(out, 12, 2); /* entries */
    put(out, 3, 2);
    put(out, 24, 2); /* encodings */
    put(out, 1, 2);
    put(out, 0x00000000, 4);
    put(out, 0x01000100, 4);
    put(out, 0x02000200, 4);
    put(out, 0x33333333, 4);
}

static void
test_lookup(void **state)
{
    (void)state;
    static const struct {
        uint32_t offset, want; /* 0: none */
    } cases[] = {{0xfff, 0},           {0x1000, 0x11111111}, {0x1fff, 0x11111111},
                 {0x2000, 0x22222222}, {0x2fff, 0x22222222}, {0x3000, 0x04000001},
                 {0x30ff, 0x04000001}, {0x3100, 0x02001000}, {0x3200, 0x33333333},
                 {0x4fff, 0x33333333}, {0x5000, 0},          {UINT32_MAX, 0}};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    write_unwind_info(&out);
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        uint32_t got = 0;
        bool found = unwind_encoding_find(fz_span_make(out.data, out.len), cases[i].offset, &got);
        if (found != (cases[i].want != 0) || got != cases[i].want)
            fail_msg("0x%x: 0x%x", cases[i].offset, got);
    }
    /* Cut anywhere: no answer from outside, and mostly none at all. */
    for (size_t len = 0; len < out.len; len++) {
        uint32_t got;
        uint8_t *copy = malloc(len + 1);
        memcpy(copy, out.data, len);
        fz_ignore(unwind_encoding_find(fz_span_make(copy, len), 0x3200, &got));
        free(copy);
    }
}

/* The number that the linker writes for an order of registers (compact_unwind_encoding.h). */
static uint32_t
encode_permutation(const uint8_t *registers, unsigned n)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < n; i++) {
        uint32_t number = registers[i] - 1u, weight = 1;
        for (unsigned k = 0; k < i; k++)
            number -= registers[k] < registers[i];
        for (unsigned k = i + 1; k < n; k++)
            weight *= 6 - k;
        value += number * weight;
    }
    return value;
}

static void
test_permutations(void **state)
{
    (void)state;
    /* From the header's comment on the format: rbx, r12 in two positions. */
    unsigned checked = 0;
    for (unsigned n = 1; n <= 6; n++) {
        for (unsigned code = 0; code < 46656; code++) { /* six digits of base 6 */
            uint8_t registers[6], got[6];
            bool distinct = true;
            unsigned left = code;
            for (unsigned i = 0; i < n; i++, left /= 6) {
                registers[i] = (uint8_t)(left % 6 + 1);
                for (unsigned k = 0; k < i; k++)
                    distinct = distinct && registers[k] != registers[i];
            }
            if (!distinct || left != 0)
                continue;
            assert_true(unwind_encoding_permutation(encode_permutation(registers, n), n, got));
            assert_memory_equal(got, registers, n);
            checked++;
        }
    }
    assert_int_equal(checked, 6 + 30 + 120 + 360 + 720 + 720);
    uint8_t got[6];
    assert_false(unwind_encoding_permutation(0, 7, got));
    assert_false(unwind_encoding_permutation(1023, 1, got));
}

static void
test_encodings(void **state)
{
    (void)state;
    struct unwind_row row;
    assert_true(unwind_encoding_arm64(0x04000103, &row)); /* x19 to x22, d8, d9 */
    assert_int_equal(row.cfa.reg, FZ_ARM64_FP);
    assert_int_equal(row.cfa.offset, 16);
    assert_int_equal(row.registers[19].offset, -24);
    assert_int_equal(row.registers[22].offset, -48);
    assert_int_equal(row.registers[23].where, UNWIND_SAME);
    assert_int_equal(row.vectors[9].offset, -64);
    assert_true(unwind_encoding_arm64(0x02002001, &row));
    assert_int_equal(row.cfa.reg, FZ_ARM64_SP);
    assert_int_equal(row.cfa.offset, 32);
    assert_int_equal(row.registers[20].offset, -16);
    assert_int_equal(row.pc.where, UNWIND_SAME);
    assert_false(unwind_encoding_arm64(0x03000000, &row));
    assert_true(unwind_encoding_arm(0x01400007, &row)); /* armv7k: r4 to r6, 4 bytes adjusted */
    assert_int_equal(row.cfa.offset, 12);
    assert_int_equal(row.registers[6].offset, -16);
    assert_int_equal(row.registers[4].offset, -24);
    assert_false(unwind_encoding_arm(0x04000000, &row));
    struct unwind_step step = {.cpu = FZ_CPU_X86_64};
    assert_true(unwind_encoding_x86(&step, 0x01030161, &row)); /* rbx, r14, r15 from rbp - 24 on */
    assert_int_equal(row.cfa.offset, 16);
    assert_int_equal(row.registers[FZ_X86_64_RBX].offset, -40);
    assert_int_equal(row.registers[14].offset, -32);
    assert_int_equal(row.registers[15].offset, -24);
    step.cpu = FZ_CPU_X86;
    assert_true(unwind_encoding_x86(&step, 0x01020025, &row)); /* esi, edi below ebp */
    assert_int_equal(row.cfa.offset, 8);
    assert_int_equal(row.registers[FZ_X86_ESI].offset, -16);
    assert_int_equal(row.registers[FZ_X86_EDI].offset, -12);
    step.cpu = FZ_CPU_X86_64;
    uint32_t two = encode_permutation((const uint8_t[]){1, 6}, 2); /* rbx, rbp */
    assert_true(unwind_encoding_x86(&step, 0x02050800 | two, &row));
    assert_int_equal(row.cfa.reg, FZ_X86_64_RSP);
    assert_int_equal(row.cfa.offset, 40);
    assert_int_equal(row.registers[FZ_X86_64_RBX].offset, -24);
    assert_int_equal(row.registers[FZ_X86_64_RBP].offset, -16);
    assert_false(unwind_encoding_x86(&step, 0x03050000, &row)); /* no code to read the size from */
    assert_false(unwind_encoding_x86(&step, 0x04000000, &row));
}

/* sub esp, 0x1234 in the code gives the size of a large frame. */
static void
test_indirect_size(void **state)
{
    (void)state;
    static const uint8_t code[] = {0x57, 0x56, 0x81, 0xec, 0x20, 0x01, 0,   0,
                                   0x90, 0xe8, 0,    0,    0,    1,    0x90};
    struct sym_section text = {.segment = "__TEXT",
                               .name = "__text",
                               .addr = 0x1000,
                               .size = sizeof(code),
                               .bytes = {code, sizeof(code)}};
    struct unwind_case c;
    struct unwind_row row;
    unwind_case_init(&c, FZ_CPU_X86);
    c.binary.sections = &text;
    c.binary.n_sections = 1;
    unwind_case_set(&c, "eip", UNWIND_IMAGE + 0x1008);
    unwind_case_run(&c, 1);
    struct unwind_step step = {.process = c.process,
                               .cpu = FZ_CPU_X86,
                               .frame = c.chain.frames,
                               .has_function = true,
                               .function = {0x1000, 0x1000 + sizeof(code)}};
    /* Immediate at byte 4, 3 words besides, two registers: edi, esi. */
    uint32_t order = encode_permutation((const uint8_t[]){5, 4}, 2);
    assert_true(unwind_encoding_x86(&step, 0x03040000 | 3u << 13 | 2u << 10 | order, &row));
    assert_int_equal(row.cfa.offset, 0x120 + 12);
    assert_int_equal(row.registers[FZ_X86_ESI].offset, -12);
    assert_int_equal(row.registers[FZ_X86_EDI].offset, -8);
    unwind_case_end(&c);
}

static void
test_expressions(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
        int64_t want; /* -99: fails */
    } cases[] = {
        {"\x35", 1, 5},                   /* lit5 */
        {"\x70\x08", 2, 108},             /* breg0 + 8 */
        {"\x92\x00\x7f", 3, 99},          /* bregx 0, -1 */
        {"\x71\x00", 2, -99},             /* not known */
        {"\x08\xff\x09\xff\x22", 5, 254}, /* const1u, const1s, plus */
        {"\x0a\x00\x01\x23\x05", 5, 261}, /* const2u, plus_uconst */
        {"\x37\x33\x1c", 3, 4},           /* 7 - 3 */
        {"\x37\x30\x1b", 3, -99},         /* by zero */
        {"\x37\x33\x1d", 3, 1},
        {"\x37\x33\x12\x22\x1e", 5, 42},    /* 7 * (3 + 3) */
        {"\x37\x33\x16\x1c", 4, -4},        /* swap */
        {"\x31\x32\x33\x17\x1c\x1c", 6, 4}, /* rot: 3 - (1 - 2) */
        {"\x31\x28\x01\x00\x06\x35", 6, 5}, /* bra over a deref of nothing */
        {"\x2f\xfd\xff", 3, -99},           /* a loop without end */
        {"\x2f\x00\x70", 3, -99},           /* out of the expression */
        {"\x06", 1, -99},
        {"", 0, -99},
        {"\x0e\x01", 2, -99}, /* cut */
        {"\x38\x1f", 2, -8},
        {"\x38\x20", 2, -9},
        {"\x31\x33\x24", 3, 8},
        {"\x11\x78\x31\x26", 4, -4},
        {"\x35\x33\x2b", 3, 1}, /* 5 > 3 */
        {"\x35\x96", 2, 5},
        {"\x50", 1, -99}, /* a register is no address */
    };
    struct sym_process_source source = {.cpu = FZ_CPU_X86_64};
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1 << 20);
    struct sym_process *process = NULL;
    struct sym_registers registers = {.known = {false}};
    sym_registers_set(&registers, 0, 100);
    assert_int_equal(sym_process_create(&source, &arena, &process, NULL), FZ_OK);
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        uint64_t got = (uint64_t)-99;
        bool done = unwind_evaluate(process, &registers, fz_span_make(cases[i].bytes, cases[i].len),
                                    NULL, &got);
        if ((int64_t)got != cases[i].want || done != (cases[i].want != -99))
            fail_msg("case %zu: %lld", i, (long long)got);
    }
    sym_process_destroy(process);
}

/* __debug_frame as Apple's compilers wrote it for armv7: one row with a frame record, in code from
 * 0x1000 to 0x1010; the next function has no instructions at all. */
static void
write_debug_frame(struct fz_buffer *out)
{
    static const uint8_t cie[] = {0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x7c,
                                  14,   0x0c, 13,   0,    0, 0, 0, 0};
    static const uint8_t rows[] = {0x48, 0x0c, 7, 8, 0x8e, 1, 0x87, 2, 0x84, 3, 0, 0};
    put(out, sizeof(cie), 4);
    fz_buffer_append(out, cie, sizeof(cie));
    put(out, 12 + sizeof(rows), 4);
    put(out, 0, 4);
    put(out, 0x1000, 4);
    put(out, 0x10, 4);
    fz_buffer_append(out, rows, sizeof(rows));
    put(out, 12, 4);
    put(out, 0, 4);
    put(out, 0x1010, 4);
    put(out, 0x20, 4);
}

static void
test_call_frames(void **state)
{
    (void)state;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    write_debug_frame(&out);
    /* LC_FUNCTION_STARTS: 0x1000, 0x1010, 0x1030. */
    static const uint8_t starts[] = {0x80, 0x20, 0x10, 0x20, 0};
    struct sym_section sections[] = {
        {.segment = "__TEXT",
         .name = "__text",
         .addr = 0x1000,
         .size = 0x1000,
         .flags = 0x80000400},
        {.segment = "__DWARF", .name = "__debug_frame", .addr = 0x8000, .size = out.len}};
    sections[1].bytes = fz_span_make(out.data, out.len);
    static const struct {
        const char *what;
        uint64_t pc, want[4];
        enum sym_trust trust;
    } cases[] = {
        {"by the table",
         UNWIND_IMAGE + 0x100a,
         {UNWIND_IMAGE + 0x100a, 0x200030, 0},
         SYM_TRUST_CFI},
        {"not written for it",
         UNWIND_IMAGE + 0x101a,
         {UNWIND_IMAGE + 0x101a, 0x200030, 0},
         SYM_TRUST_FRAME_POINTER},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct unwind_case c;
        uint64_t r4;
        unwind_case_init(&c, FZ_CPU_ARM);
        c.dsym.sections = sections;
        c.dsym.n_sections = 2;
        c.dsym.cputype = FZ_ARCH_ARM;
        c.dsym.bytes = sections[1].bytes;
        c.dsym.function_starts = fz_span_make(starts, sizeof(starts));
        unwind_case_set(&c, "pc", cases[i].pc);
        unwind_case_set(&c, "sp", S);
        unwind_case_set(&c, "lr", cases[i].pc + 2);
        unwind_case_set(&c, "r7", S + 0x40);
        unwind_case_put(&c, S + 0x3c, 444);
        unwind_case_put(&c, S + 0x44, 0x200031);
        unwind_case_run(&c, 100);
        unwind_case_want(&c, cases[i].want, SYM_UNWIND_END_BASE);
        assert_int_equal(c.chain.frames[1].trust, cases[i].trust);
        bool known = sym_registers_get(&c.chain.frames[1].registers, 4, &r4);
        assert_int_equal(known, cases[i].trust == SYM_TRUST_CFI);
        if (known)
            assert_int_equal(r4, 444);
        unwind_case_end(&c);
    }
}

/* libdwarf makes a table by the size of the file, and reads all of it at the end: of a dSYM of 1 GiB it
 * would be 1 GiB, in 280,000 pages. */
static void
test_large_file(void **state)
{
    (void)state;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    write_debug_frame(&out);
    struct sym_section sections[] = {
        {.segment = "__DWARF", .name = "__debug_info", .bytes = fz_buffer_span(&out)},
        {.segment = "__DWARF", .name = "__debug_frame", .bytes = fz_buffer_span(&out)}};
    struct sym_macho macho = {.cputype = FZ_ARCH_ARM, .sections = sections, .n_sections = 2};
    macho.bytes = fz_span_make(out.data, (size_t)1 << 30); /* of which only the size is used */
    enum { PAGES_MAX = 300 };
    struct libdwarf_frames *frames = NULL;
    const struct libdwarf_frame_row *row;
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    assert_int_equal(libdwarf_frames_open(&macho, false, &frames, NULL), FZ_OK);
    assert_true(libdwarf_frames_find(frames, 0x100a, &row));
    libdwarf_frames_close(frames);
    getrusage(RUSAGE_SELF, &after);
    assert_true(after.ru_minflt - before.ru_minflt < PAGES_MAX);
}

/* __eh_frame of i386: 5 is esp and 4 ebp; a start that is 2^32 too high once 64 bits are added up. */
static void
test_call_frames_i386(void **state)
{
    (void)state;
    static const uint8_t cie[] = {0, 0, 0,    0,    1, 'z', 'R',  0, 1, 0x7c,
                                  8, 1, 0x10, 0x0c, 5, 4,   0x88, 1, 0, 0};
    /* push ebp: CFA = esp + 8; mov ebp, esp: CFA = ebp + 8; ebx below it. */
    static const uint8_t rows[] = {0, 0x41, 0x0e, 8, 0x84, 2, 0x42, 0x0d, 4, 0x44, 0x83, 3};
    enum { EH = 0x9000, CODE = 0x1000 };
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    put(&out, sizeof(cie), 4);
    fz_buffer_append(&out, cie, sizeof(cie));
    put(&out, 12 + sizeof(rows), 4);
    put(&out, out.len, 4); /* back to the CIE */
    put(&out, (uint32_t)(CODE - (EH + (int)out.len)), 4);
    put(&out, 0x20, 4);
    fz_buffer_append(&out, rows, sizeof(rows));
    put(&out, 0, 4);
    static const uint8_t starts[] = {0x80, 0x20, 0x20, 0};
    struct sym_section sections[] = {
        {.segment = "__TEXT", .name = "__text", .addr = CODE, .size = 0x1000, .flags = 0x80000400},
        {.segment = "__TEXT", .name = "__eh_frame", .addr = EH, .size = out.len}};
    sections[1].bytes = fz_span_make(out.data, out.len);
    struct unwind_case c;
    uint64_t value = 0;
    unwind_case_init(&c, FZ_CPU_X86);
    c.dsym.sections = sections;
    c.dsym.n_sections = 2;
    c.dsym.cputype = FZ_ARCH_I386;
    c.dsym.bytes = sections[1].bytes;
    c.dsym.function_starts = fz_span_make(starts, sizeof(starts));
    unwind_case_set(&c, "eip", UNWIND_IMAGE + CODE + 0x10);
    unwind_case_set(&c, "esp", S);
    unwind_case_set(&c, "ebp", S + 0x40);
    unwind_case_put(&c, S + 0x3c, 333);
    unwind_case_put(&c, S + 0x40, S + 0x80);
    unwind_case_put(&c, S + 0x44, 0x200030);
    unwind_case_run(&c, 2);
    unwind_case_want(&c, (uint64_t[]){UNWIND_IMAGE + CODE + 0x10, 0x200030, 0},
                     SYM_UNWIND_END_LIMIT);
    assert_int_equal(c.chain.frames[1].trust, SYM_TRUST_CFI);
    assert_true(sym_registers_get(&c.chain.frames[1].registers, FZ_X86_EBX, &value));
    assert_int_equal(value, 333);
    assert_true(sym_registers_get(&c.chain.frames[1].registers, FZ_X86_EBP, &value));
    assert_int_equal(value, S + 0x80);
    assert_true(sym_registers_get(&c.chain.frames[1].registers, FZ_X86_ESP, &value));
    assert_int_equal(value, S + 0x48);
    unwind_case_end(&c);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lookup),           cmocka_unit_test(test_permutations),
        cmocka_unit_test(test_encodings),        cmocka_unit_test(test_indirect_size),
        cmocka_unit_test(test_expressions),      cmocka_unit_test(test_call_frames),
        cmocka_unit_test(test_call_frames_i386), cmocka_unit_test(test_large_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
