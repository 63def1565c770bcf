/*
 * Variables on all processors: registers by their DWARF numbers, 32-bit addresses, frame pointers.
 *
 * No linker here makes programs for armv7 and i386, so these frames are made by hand.
 */
#include "symbolicator/variables/variables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/variables_case.h"

#define STACK "1 2 3 4 5 6 7 8 0 0 0 0 0 0 0 0 4:2a 4:2b 4:2c 4:2d 4:2e"

struct cpu_case {
    const char *name, *body, *want;
    enum fz_arch_cpu cpu;
    bool is_exact;
};

static const struct cpu_case cases[] = {
    {"armv7: r0", "4 'v' 4:15 u1 50", "v = 5; ", FZ_CPU_ARM, false},
    {"armv7: a register that is not known", "4 'v' 4:15 u1 51", "v register_not_recoverable; ",
     FZ_CPU_ARM, false},
    {"armv7: d8", "4 'v' 4:35 u3 90 u264", "v = 2.5; ", FZ_CPU_ARM, false},
    {"armv7: s17, the high half of d8", "4 'v' 4:24 u2 90 51", "v = 2.0625; ", FZ_CPU_ARM, false},
    {"armv7: the frame pointer is r7", "4 'v' 4:15 u2 91 0", "v = 42; ", FZ_CPU_ARM, false},
    {"armv7: long long is longer than a register", "4 'v' 4:2d u1 50", "v optimized_out; ",
     FZ_CPU_ARM, false},
    {"armv7: negative numbers of 32 bits", "4 'v' 4:15 u3 9 ff 9f", "v = -1; ", FZ_CPU_ARM, false},
    {"armv7: a generic number has 32 bits", "4 'v' 4:2d u3 9 ff 9f", "v optimized_out; ",
     FZ_CPU_ARM, false},
    {"armv7: pointers have 4 bytes", "4 'v' 4:3f u2 91 0", "v = 0x2a; ", FZ_CPU_ARM, false},
    {"i386: eax", "4 'v' 4:15 u1 50", "v = 5; ", FZ_CPU_X86, false},
    {"i386: ebp", "4 'v' 4:15 u2 91 4", "v = 43; ", FZ_CPU_X86, false},
    {"i386: esp is 4", "4 'v' 4:15 u2 74 0", "v = 67305985; ", FZ_CPU_X86, false},
    {"i386: ebp of an epilogue is the caller's: 8 below the CFA", "4 'v' 4:15 u2 91 70", "v = 44; ",
     FZ_CPU_X86, true},
    {"x86_64: rax", "4 'v' 4:19 u1 50", "v = 5; ", FZ_CPU_X86_64, false},
    {"x86_64: xmm8", "4 'v' 4:39 u2 90 u25", "v = 2.5; ", FZ_CPU_X86_64, false},
    {"x86_64: rbp", "4 'v' 4:19 u2 91 0", "v = 42; ", FZ_CPU_X86_64, false},
    {"x86_64: rbp of the frame is 16 below the CFA", "4 'v' 4:19 u2 91 70", "v = 42; ",
     FZ_CPU_X86_64, true},
    {"arm64: the number of v0 is not that of far", "4 'v' 4:19 u3 90 c0 0", "v = -1; ",
     FZ_CPU_ARM64, false},
    {"arm64: call_frame_cfa", "4 'v' 4:19 u4 9c 8 20 1c", "v = 42; ", FZ_CPU_ARM64, true},
};

static void
test_cpus(void **state)
{
    (void)state;
    size_t n_wrong = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
        const struct variables_case one = {.cpu = cases[i].cpu,
                                           .body = cases[i].body,
                                           .is_exact = cases[i].is_exact,
                                           .stack = STACK};
        variables_case_run(&one, &out);
        if (strcmp(fz_buffer_cstr(&out), cases[i].want) == 0)
            continue;
        print_message("%s: %s\n", cases[i].name, fz_buffer_cstr(&out));
        n_wrong++;
    }
    assert_int_equal(n_wrong, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cpus)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
