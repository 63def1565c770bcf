#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/suggest.h"
#include "server/cli/help.h"
#include "server/config/options.h"

struct values {
    const char *out, *arch;
    bool json, offset;
    int form;
    uint64_t jobs;
    struct option_list dsyms;
};

static const struct option_spec table[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .offset = offsetof(struct values, out),
     .help = "Where to."},
    {.name = "arch", .argument = "ARCH", .offset = offsetof(struct values, arch), .help = "Which."},
    {.name = "json", .letter = 'j', .offset = offsetof(struct values, json), .help = "JSON."},
    {.name = "offset", .offset = offsetof(struct values, offset), .help = "Offsets."},
    {.name = "ips",
     .set = option_set_choice,
     .offset = offsetof(struct values, form),
     .value = 2,
     .help = "Form."},
    {.name = "jobs",
     .argument = "N",
     .set = option_set_count,
     .offset = offsetof(struct values, jobs),
     .min = 1,
     .max = 8,
     .help = "Threads."},
    {.name = "dsym",
     .argument = "PATH",
     .set = option_add_text,
     .offset = offsetof(struct values, dsyms),
     .help = "Symbols."},
    {.name = NULL},
};
static const struct command_spec plain = {.name = "plain",
                                          .operands = "PATH...",
                                          .flags = COMMAND_NEEDS_OPERANDS,
                                          .description = "Does it.",
                                          .options = table};
static const struct command_spec one = {
    .name = "one", .operands = "FILE", .flags = COMMAND_NEEDS_OPERANDS, .options = table};
static const struct command_spec none = {.name = "none", .operands = "", .options = table};
static const struct command_spec apple = {
    .name = "apple", .operands = "[A...]", .options = table, .flags = COMMAND_SINGLE_DASH};
static const struct command_spec names = {
    .name = "names", .operands = "[A...]", .options = table, .flags = COMMAND_DASH_OPERANDS};

static const struct {
    const struct command_spec *command;
    const char *args[6];
    const char *want; /* "out,arch,json,offset,form,jobs,dsyms:operands", "help", or the message */
    bool is_bad;
} cases[] = {
    {&plain, {"a"}, "-,-,0,0,0,0,:a", false},
    {&plain, {"a", "-o", "x", "b", "--json"}, "x,-,1,0,0,0,:a b", false},
    {&plain, {"--output=x", "--arch", "arm64", "a"}, "x,arm64,0,0,0,0,:a", false},
    {&plain, {"-ox", "a"}, "x,-,0,0,0,0,:a", false},
    {&plain, {"--output", "x", "-o", "y", "a"}, "y,-,0,0,0,0,:a", false},
    {&plain, {"--dsym", "x", "--dsym=y", "a"}, "-,-,0,0,0,0,xy:a", false},
    {&plain, {"--", "--json", "-o"}, "-,-,0,0,0,0,:--json -o", false},
    {&plain, {"-", "a"}, "-,-,0,0,0,0,:- a", false},
    {&plain, {"-o", "-", "a"}, "-,-,0,0,0,0,:a", false},
    {&plain, {"-o", "--", "a"}, "--,-,0,0,0,0,:a", false},
    {&plain, {"--ips", "--jobs=8", "a"}, "-,-,0,0,2,8,:a", false},
    {&plain, {"--help"}, "help", false},
    {&plain, {"a", "-h"}, "help", false},
    {&plain, {NULL}, "PATH is missing", true},
    {&plain, {""}, "PATH is empty", true},
    {&plain, {"--foo", "a"}, "unknown option --foo", true},
    {&plain, {"--jsno", "a"}, "unknown option --jsno; did you mean --json?", true},
    {&plain, {"--js", "a"}, "unknown option --js; did you mean --json?", true},
    {&plain, {"--JSON", "a"}, "unknown option --JSON; did you mean --json?", true},
    {&plain, {"-json", "a"}, "unknown option -json; did you mean --json?", true},
    {&plain, {"--outputs=x", "a"}, "unknown option --outputs; did you mean --output?", true},
    {&plain, {"-x", "a"}, "unknown option -x", true},
    {&plain, {"--json=1", "a"}, "--json takes no value", true},
    {&plain, {"a", "--output"}, "--output needs a value: --output FILE", true},
    {&plain, {"a", "-o"}, "--output needs a value", true},
    {&plain, {"--output="}, "--output: the value is empty", true},
    {&plain, {"--dsym", "--json"}, "--dsym needs a value, but the option --json comes next", true},
    {&plain, {"--jobs", "0"}, "--jobs: '0' is not a number from 1 to 8", true},
    {&plain, {"--jobs", "9"}, "--jobs: '9' is not a number from 1 to 8", true},
    {&plain, {"--jobs", "1e3"}, "--jobs: '1e3' is not a number from 1 to 8", true},
    {&one, {"a", "b"}, "unexpected argument 'b'; only one is accepted: FILE", true},
    {&none, {"a"}, "unexpected argument 'a'", true},
    {&apple, {"-arch", "arm64", "-offset", "0x10"}, "-,arm64,0,1,0,0,:0x10", false},
    {&apple, {"--arch", "arm64", "--offset"}, "-,arm64,0,1,0,0,:", false},
    {&apple, {"-o", "x", "-j"}, "x,-,1,0,0,0,:", false},
    {&apple, {"-arhc", "x"}, "unknown option -arhc; did you mean -arch?", true},
    {&apple, {"-arch"}, "-arch needs a value: -arch ARCH", true},
    {&names, {"-[Shop pay]", "--json"}, "-,-,1,0,0,0,:-[Shop pay]", false},
    {&names, {"-h"}, "help", false},
};

static void
test_parse(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char program[] = "x", copies[6][64], *argv[8] = {program}, got[256] = "";
        int argc = 1;
        for (; argc <= 6 && cases[i].args[argc - 1]; argc++) {
            snprintf(copies[argc - 1], sizeof(copies[0]), "%s", cases[i].args[argc - 1]);
            argv[argc] = copies[argc - 1];
        }
        struct values v = {.form = 0};
        struct fz_error err = {.text = ""};
        FZ_CLEANUP(options_deinit) struct options options = options_make();
        enum fz_code code = options_parse(cases[i].command, argc, argv, &v, &options, &err);
        if (code) {
            snprintf(got, sizeof(got), "%s", err.text);
        } else if (options.wants_help) {
            snprintf(got, sizeof(got), "help");
        } else {
            int n = snprintf(got, sizeof(got), "%s,%s,%d,%d,%d,%d,", v.out ? v.out : "-",
                             v.arch ? v.arch : "-", v.json, v.offset, v.form, (int)v.jobs);
            for (size_t k = 0; k < v.dsyms.n; k++)
                n += snprintf(got + n, sizeof(got) - (size_t)n, "%s", v.dsyms.items[k]);
            for (size_t k = 0; k < options.n_operands; k++)
                n += snprintf(got + n, sizeof(got) - (size_t)n, "%s%s", k ? " " : ":",
                              options.operands[k]);
            if (options.n_operands == 0)
                snprintf(got + n, sizeof(got) - (size_t)n, ":");
        }
        options_free_lists(cases[i].command, &v);
        bool is_same =
            cases[i].is_bad ? strstr(got, cases[i].want) == got : strcmp(got, cases[i].want) == 0;
        if (!is_same || (code == FZ_E_MALFORMED) != cases[i].is_bad)
            fail_msg("case %zu: got '%s', want '%s'", i, got, cases[i].want);
    }
}

/* A word of any length is reported, cut. */
static void
test_long_words(void **state)
{
    (void)state;
    static char word[100000];
    memset(word, 'x', sizeof(word) - 1);
    memcpy(word, "--", 2);
    char program[] = "x", *argv[] = {program, word, NULL};
    struct options options = options_make();
    struct fz_error err;
    assert_int_equal(options_parse(&plain, 2, argv, NULL, &options, &err), FZ_E_MALFORMED);
    assert_int_equal(strncmp(err.text, "unknown option --xxx", 20), 0);
    assert_true(strlen(err.text) < 100);
}

/* What is not given comes from the option's variable, and what that does not set is `initial`. */
static void
test_where_values_come_from(void **state)
{
    (void)state;
    static const struct option_spec options[] = {{.name = "jobs",
                                                  .argument = "N",
                                                  .set = option_set_count,
                                                  .offset = offsetof(struct values, jobs),
                                                  .min = 1,
                                                  .max = 8,
                                                  .variable = "TEST_OPTIONS_JOBS",
                                                  .initial = "4"},
                                                 {.name = NULL}};
    static const struct command_spec command = {.name = "x", .operands = "", .options = options};
    static const struct {
        const char *option, *variable;
        unsigned want; /* 0: the message of `error` */
        const char *error;
    } rows[] = {
        {NULL, NULL, 4, NULL},
        {NULL, "5", 5, NULL},
        {"--jobs=6", "5", 6, NULL},
        {"--jobs=6", "many", 6, NULL},
        {NULL, "many", 0, "TEST_OPTIONS_JOBS: 'many' is not a number from 1 to 8"},
        {"--jobs=9", "5", 0, "--jobs: '9' is not a number from 1 to 8"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        FZ_CLEANUP(options_deinit) struct options given = options_make();
        char name[] = "x", option[16] = "";
        char *argv[] = {name, option, NULL};
        struct values values = {.jobs = 0};
        struct fz_error err;
        snprintf(option, sizeof(option), "%s", rows[i].option ? rows[i].option : "");
        if (rows[i].variable)
            assert_int_equal(setenv("TEST_OPTIONS_JOBS", rows[i].variable, 1), 0);
        enum fz_code code =
            options_parse(&command, rows[i].option ? 2 : 1, argv, &values, &given, &err);
        unsetenv("TEST_OPTIONS_JOBS");
        assert_int_equal(code, rows[i].want ? FZ_OK : FZ_E_MALFORMED);
        if (rows[i].want)
            assert_int_equal(values.jobs, rows[i].want);
        else
            assert_string_equal(err.text, rows[i].error);
    }
}

static void
test_help(void **state)
{
    (void)state;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    help_append_text(&plain, false, &out);
    assert_string_equal(fz_buffer_cstr(&out), "usage: framezero plain [OPTIONS] PATH...\n"
                                              "\n"
                                              "Does it.\n"
                                              "\n"
                                              "Options:\n"
                                              "  -o, --output FILE     Where to.\n"
                                              "      --arch ARCH       Which.\n"
                                              "  -j, --json            JSON.\n"
                                              "      --offset          Offsets.\n"
                                              "      --ips             Form.\n"
                                              "      --jobs N          Threads.\n"
                                              "      --dsym PATH       Symbols.\n"
                                              "  -h, --help            Show this help and exit.\n");
}

static void
test_suggest(void **state)
{
    (void)state;
    static const struct {
        const char *word, *want;
    } tries[] = {
        {"uplaod", "upload"},
        {"UPLOAD", "upload"},
        {"up", "upload"},
        {"symbolize", "symbolicate"},
        {"crash", ""},
        {"symbolicat", "symbolicate"},
        {"x", ""},
        {"tokens", "token"},
        {"", ""},
        {"inspct", "inspect"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(tries); i++) {
        struct fz_suggest suggest;
        fz_suggest_start(&suggest, tries[i].word);
        fz_suggest_try(&suggest, "upload");
        fz_suggest_try(&suggest, "token");
        fz_suggest_try(&suggest, "symbolicate");
        fz_suggest_try(&suggest, "inspect");
        if (strcmp(suggest.best, tries[i].want) != 0)
            fail_msg("'%s': got '%s', want '%s'", tries[i].word, suggest.best, tries[i].want);
    }
}

int
main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_long_words),
        cmocka_unit_test(test_where_values_come_from),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_suggest),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
