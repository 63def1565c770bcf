#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "server/config.h"

static const char *const allowed[] = {"listen",      "data",    "database",  "blobs",
                                      "workers",     "migrate", "log-level", "public-url",
                                      "upload-wait", NULL};

struct test {
    const char *name, *file, *variable, *args[6];
    const char *want;  /* "listen|database|workers|migrate|report_bytes", NULL on failure */
    const char *error; /* contained in the message */
};

static char path[] = "/tmp/test_config_XXXXXX";

static const struct test tests[] = {
    {"defaults",
     NULL,
     NULL,
     {NULL},
     "127.0.0.1:8480|sqlite:./framezero-data/framezero.db|-1|1|4194304",
     NULL},
    {"data moves the database",
     NULL,
     NULL,
     {"--data", "/srv/fz"},
     "127.0.0.1:8480|sqlite:/srv/fz/framezero.db|-1|1|4194304",
     NULL},
    {"file",
     "listen = \"[::1]:9\" # here\n\n# all\nworkers=3\nmigrate = no\nlimit.report_bytes=2M\n",
     NULL,
     {NULL},
     "[::1]:9|sqlite:./framezero-data/framezero.db|3|0|2097152",
     NULL},
    {"variable over file",
     "workers = 3\n",
     "FRAMEZERO_WORKERS=4",
     {NULL},
     "127.0.0.1:8480|sqlite:./framezero-data/framezero.db|4|1|4194304",
     NULL},
    {"flag over variable",
     "workers = 3\n",
     "FRAMEZERO_WORKERS=4",
     {"--workers=5"},
     "127.0.0.1:8480|sqlite:./framezero-data/framezero.db|5|1|4194304",
     NULL},
    {"limit by variable",
     NULL,
     "FRAMEZERO_LIMIT_REPORT_BYTES=1K",
     {NULL},
     "127.0.0.1:8480|sqlite:./framezero-data/framezero.db|-1|1|1024",
     NULL},
    {"limit by flag, no-migrate",
     NULL,
     NULL,
     {"--limit", "report_bytes=7", "--no-migrate"},
     "127.0.0.1:8480|sqlite:./framezero-data/framezero.db|-1|0|7",
     NULL},
    {"underscore in the file",
     "public_url = https://crash.example.com\ndatabase = 'postgresql://a@b/c'",
     NULL,
     {NULL},
     "127.0.0.1:8480|postgresql://a@b/c|-1|1|4194304",
     NULL},

    {"unknown key",
     "listen = :1\nlisten_to = :2\n",
     NULL,
     {NULL},
     NULL,
     ":2: unknown key 'listen_to'; known are listen, data"},
    {"no key", "listen\n", NULL, {NULL}, NULL, ":1: not a line of key = value"},
    {"open quotes", "data = \"x\n", NULL, {NULL}, NULL, ":1: the quotes of 'data' do not close"},
    {"text behind quotes", "data = \"x\" y\n", NULL, {NULL}, NULL, ":1: the quotes of 'data'"},
    {"unknown limit", "limit.widgets = 3\n", NULL, {NULL}, NULL, ":1: there is no limit 'widgets'"},
    {"bad variable",
     NULL,
     "FRAMEZERO_WORKERS=many",
     {NULL},
     NULL,
     "FRAMEZERO_WORKERS: 'many' is no number from 0 to 256"},
    {"bad limit variable",
     NULL,
     "FRAMEZERO_LIMIT_THREADS=0",
     {NULL},
     NULL,
     "FRAMEZERO_LIMIT_THREADS: '0' is no positive number"},
    {"unknown flag",
     NULL,
     NULL,
     {"--port", "80"},
     NULL,
     "unknown option '--port'; known are --listen, --data, --database"},
    {"no value", NULL, NULL, {"--listen"}, NULL, "--listen: its value is missing"},
    {"argument", NULL, NULL, {"now"}, NULL, "unexpected argument 'now'"},
    {"no port", NULL, NULL, {"--listen", "localhost"}, NULL, "is not ADDRESS:PORT"},
    {"bad learned names",
     NULL,
     "FRAMEZERO_LEARNED_NAMES=all",
     {NULL},
     NULL,
     "FRAMEZERO_LEARNED_NAMES: 'all' is none of off, project, shared"},
    {"bad proxies",
     "trusted-proxies = \"10.0.0.0/8, proxy\"\n",
     NULL,
     {NULL},
     NULL,
     ":1: 'proxy' is not an address or network"},
    {"bad proxies by variable",
     NULL,
     "FRAMEZERO_TRUSTED_PROXIES=::1/200",
     {NULL},
     NULL,
     "FRAMEZERO_TRUSTED_PROXIES: '::1/200' is not an address or network"},
    {"bad level", NULL, NULL, {"--log-level", "loud"}, NULL, "'loud' is not one of debug"},
    {"bad bool", "migrate = maybe\n", NULL, {NULL}, NULL, "'maybe' is neither yes nor no"},
    {"bad url", NULL, NULL, {"--public-url", "crash.example.com"}, NULL, "begins with neither"},
    {"limit without value", NULL, NULL, {"--limit", "threads"}, NULL, "is not NAME=VALUE"},
};

static void
run(const struct test *test)
{
    char config_flag[] = "--config", program[] = "serve", copies[6][128], *argv[9] = {program};
    int argc = 1;
    if (test->file) {
        struct fz_error err;
        assert_int_equal(fz_file_write_atomic(path, fz_span_cstr(test->file), 0600, &err), FZ_OK);
        argv[argc++] = config_flag;
        argv[argc++] = path;
    }
    for (size_t i = 0; i < 6 && test->args[i]; i++) {
        snprintf(copies[i], sizeof(copies[i]), "%s", test->args[i]);
        argv[argc++] = copies[i];
    }
    char variable[128] = "";
    if (test->variable) {
        snprintf(variable, sizeof(variable), "%s", test->variable);
        char *equals = strchr(variable, '=');
        *equals = '\0';
        setenv(variable, equals + 1, 1);
    }
    struct config config;
    struct fz_error err = {.text = ""};
    enum fz_code code = config_load(argc, argv, allowed, &config, &err);
    if (test->variable)
        unsetenv(variable);
    if (test->want) {
        char got[1024];
        if (code)
            fail_msg("%s: %s", test->name, err.text);
        snprintf(got, sizeof(got), "%s|%s|%d|%d|%zu", config.listen, config.database,
                 config.workers, config.migrate, config.limits.report_bytes);
        if (strcmp(got, test->want) != 0)
            fail_msg("%s: got %s, want %s", test->name, got, test->want);
    } else if (code != FZ_E_MALFORMED || !strstr(err.text, test->error)) {
        fail_msg("%s: got code %d '%s', want '%s'", test->name, (int)code, err.text, test->error);
    }
}

static void
test_load(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(tests); i++)
        run(&tests[i]);
}

static void
test_missing_file(void **state)
{
    (void)state;
    char program[] = "serve", flag[] = "--config=/nonexistent/framezero.conf";
    char *argv[] = {program, flag, NULL};
    struct config config;
    struct fz_error err;
    assert_int_equal(config_load(2, argv, allowed, &config, &err), FZ_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "configuration: /nonexistent/framezero.conf"));
}

static void
test_not_allowed(void **state)
{
    (void)state;
    static const char *const few[] = {"data", NULL};
    char program[] = "token", flag[] = "--listen", value[] = ":1";
    char *argv[] = {program, flag, value, NULL};
    struct config config;
    struct fz_error err;
    assert_int_equal(config_load(3, argv, few, &config, &err), FZ_E_MALFORMED);
    assert_string_equal(err.text, "unknown option '--listen'; known are --data, --config, --limit");
}

static void
test_take(void **state)
{
    (void)state;
    char program[] = "token", a[] = "--scope=read", b[] = "--data", c[] = "x", d[] = "--scope",
         e[] = "upload", f[] = "--json";
    char *argv[] = {program, a, b, c, d, e, f, NULL};
    int argc = 7;
    const char *scope = NULL, *label = "none";
    struct fz_error err;
    assert_int_equal(config_take_value(&argc, argv, "scope", &scope, &err), FZ_OK);
    assert_string_equal(scope, "upload");
    assert_int_equal(config_take_value(&argc, argv, "label", &label, &err), FZ_OK);
    assert_string_equal(label, "none");
    assert_true(config_take_flag(&argc, argv, "json"));
    assert_false(config_take_flag(&argc, argv, "json"));
    assert_int_equal(argc, 3);
    assert_string_equal(argv[1], "--data");
    assert_int_equal(config_take_value(&argc, argv, "data", &scope, &err), FZ_OK);
    char *lone[] = {program, b, NULL};
    argc = 2;
    assert_int_equal(config_take_value(&argc, lone, "data", &scope, &err), FZ_E_MALFORMED);
    assert_string_equal(err.text, "--data: its value is missing");
}

static void
test_hide_password(void **state)
{
    (void)state;
    static const struct {
        const char *url, *want;
    } cases[] = {
        {"postgresql://fz:secret@db:5432/crash", "postgresql://fz:***@db:5432/crash"},
        {"postgresql://fz:p@ss@db/crash", "postgresql://fz:***@db/crash"},
        {"postgresql://fz@db:5432/crash", "postgresql://fz@db:5432/crash"},
        {"postgresql:///crash", "postgresql:///crash"},
        {"sqlite:/srv/a:b@c/fz.db", "sqlite:/srv/a:b@c/fz.db"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char text[128];
        config_hide_password(cases[i].url, text, sizeof(text));
        assert_string_equal(text, cases[i].want);
    }
}

int
main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(test_load),          cmocka_unit_test(test_missing_file),
        cmocka_unit_test(test_not_allowed),   cmocka_unit_test(test_take),
        cmocka_unit_test(test_hide_password),
    };
    int fd = mkstemp(path);
    fz_closep(&fd);
    int failed = cmocka_run_group_tests(all, NULL, NULL);
    unlink(path);
    return failed;
}
