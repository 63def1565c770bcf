#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "server/config/config.h"

static const struct command_spec serve = {
    .name = "serve", .operands = "", .settings = config_settings, .role = CONFIG_SERVE};

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
     ":2: unknown key 'listen_to'; did you mean listen?"},
    {"no key", "listen\n", NULL, {NULL}, NULL, ":1: not a line of key = value"},
    {"open quotes", "data = \"x\n", NULL, {NULL}, NULL, ":1: the quotes of 'data' do not close"},
    {"text after quotes", "data = \"x\" y\n", NULL, {NULL}, NULL, ":1: the quotes of 'data'"},
    {"unknown limit", "limit.widgets = 3\n", NULL, {NULL}, NULL, ":1: there is no limit 'widgets'"},
    {"bad variable",
     NULL,
     "FRAMEZERO_WORKERS=many",
     {NULL},
     NULL,
     "FRAMEZERO_WORKERS: 'many' is not a number from 0 to 256"},
    {"bad limit variable",
     NULL,
     "FRAMEZERO_LIMIT_THREADS=0",
     {NULL},
     NULL,
     "FRAMEZERO_LIMIT_THREADS: '0' is not a positive number"},
    {"unknown flag", NULL, NULL, {"--port", "80"}, NULL, "unknown option --port"},
    {"no value", NULL, NULL, {"--listen"}, NULL, "--listen needs a value: --listen ADDRESS:PORT"},
    {"no port",
     NULL,
     NULL,
     {"--listen", "localhost"},
     NULL,
     "--listen: 'localhost': the port is missing; expected ADDRESS:PORT, such as localhost:8480"},
    {"bad learned names",
     NULL,
     "FRAMEZERO_LEARNED_NAMES=all",
     {NULL},
     NULL,
     "FRAMEZERO_LEARNED_NAMES: 'all' is not one of: off project shared"},
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
    {"bad origins",
     "cors-origins = https://dash.example.com/page\n",
     NULL,
     {NULL},
     NULL,
     ":1: 'https://dash.example.com/page' is not an origin"},
    {"bad internal targets",
     "alert-internal = \"10.0.0.0/8, http://hooks.local\"\n",
     NULL,
     {NULL},
     NULL,
     ":1: 'http://hooks.local' is not a network, address or host"},
    {"bad mail server",
     NULL,
     NULL,
     {"--smtp-url", "mail.example.com:587"},
     NULL,
     "--smtp-url: expected smtp://HOST[:PORT] or smtps://HOST[:PORT]"},
    {"a password in the URL of the mail server",
     NULL,
     "FRAMEZERO_SMTP_URL=smtp://me:secret@mail.example.com",
     {NULL},
     NULL,
     "the login in smtp-user and smtp-password"},
    {"bad encryption of mail",
     "smtp-tls = maybe\n",
     NULL,
     {NULL},
     NULL,
     ":1: 'maybe' is not one of: required offered off"},
    {"bad sender",
     NULL,
     "FRAMEZERO_MAIL_FROM=Alerts <a@b.c>",
     {NULL},
     NULL,
     "FRAMEZERO_MAIL_FROM: 'Alerts <a@b.c>' is not a mail address"},
    {"bad level",
     NULL,
     NULL,
     {"--log-level", "loud"},
     NULL,
     "'loud' is not one of: debug info warn error"},
    {"bad bool", "migrate = maybe\n", NULL, {NULL}, NULL, "'maybe' is neither yes nor no"},
    {"bad url",
     NULL,
     NULL,
     {"--public-url", "crash.example.com"},
     NULL,
     "--public-url: 'crash.example.com' is not a URL: it must begin with http:// or https://"},
    {"port above the range",
     NULL,
     NULL,
     {"--listen", "127.0.0.1:99999"},
     NULL,
     "--listen: '127.0.0.1:99999': the port must be a number from 0 to 65535"},
    {"port above the range in a variable",
     NULL,
     "FRAMEZERO_LISTEN=:65536",
     {NULL},
     NULL,
     "FRAMEZERO_LISTEN: ':65536': the port must be a number from 0 to 65535"},
    {"port above the range in the file",
     "\nlisten = ::1:8480\n",
     NULL,
     {NULL},
     NULL,
     ":2: '::1:8480': write an IPv6 address in brackets, such as [::1]:8480"},
    {"port of a URL",
     NULL,
     NULL,
     {"--public-url", "https://crash.example.com:65536"},
     NULL,
     "the port must be a number from 1 to 65535"},
    {"database of another kind",
     NULL,
     NULL,
     {"--database", "mysql://fz:secret@db/crash"},
     NULL,
     "--database: 'mysql://fz:***@db/crash' is not a database URL; expected sqlite:PATH"},
    {"database without a scheme",
     NULL,
     NULL,
     {"--database", "fz.db"},
     NULL,
     "expected sqlite:PATH"},
    {"blobs of another kind",
     "blobs = s3:/bucket\n",
     NULL,
     {NULL},
     NULL,
     ":1: 's3:/bucket' is not a place for blobs; expected file:DIR"},
    {"negative number", NULL, NULL, {"--workers", "-1"}, NULL, "'-1' is not a number from 0"},
    {"number with more", NULL, NULL, {"--workers=4x"}, NULL, "'4x' is not a number from 0 to 256"},
    {"seconds above the range",
     "upload-wait = 3601\n",
     NULL,
     {NULL},
     NULL,
     ":1: '3601' is not a number from 0 to 3600"},
    {"limit by another name",
     "limit.frame = 3\n",
     NULL,
     {NULL},
     NULL,
     ":1: there is no limit 'frame'; did you mean frames?"},
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
    enum fz_code code = config_load(&serve, argc, argv, false, &config, &err);
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

/* A worker that has the variables has the settings. */
static void
test_variables_for_workers(void **state)
{
    (void)state;
    static const struct command_spec worker = {
        .name = "worker", .operands = "", .settings = config_settings, .role = CONFIG_WORKER};
    char name[] = "worker", data[] = "--data=/tmp/a b", names[] = "--learned-names=shared",
         frames[] = "--limit=frames=7", days[] = "--limit=symbol_bytes_per_day=0",
         internal[] = "--alert-internal=10.0.0.0/8, hooks.local", ca[] = "--alert-ca=/tmp/ca.pem",
         smtp[] = "--smtp-url=smtp://mail.example.com:587", user[] = "--smtp-user=u",
         password[] = "--smtp-password=p =#", from[] = "--mail-from=a@b.c",
         *argv[] = {name, data, names, frames,   days, internal,
                    ca,   smtp, user,  password, from, NULL};
    struct config config, again;
    struct fz_error err;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    assert_int_equal(config_load(&worker, 11, argv, false, &config, &err), FZ_OK);
    config.workers = 3;
    config_append_variables(&config, CONFIG_WORKER, &out);
    fz_buffer_char(&out, '\0');
    assert_int_equal(fz_buffer_done(&out, &err), FZ_OK);
    size_t n = 0;
    for (char *at = out.data; at < out.data + out.len; at += strlen(at) + 1, n++) {
        char *value = strchr(at, '=');
        *value++ = '\0';
        assert_int_equal(setenv(at, value, 1), 0);
        at = value;
    }
    assert_true(n > 40);
    enum fz_code code = config_load(&worker, 1, argv, false, &again, &err);
    for (char *at = out.data; at < out.data + out.len; at += strlen(at) + 1) {
        unsetenv(at);
        at += strlen(at) + 1;
    }
    assert_int_equal(code, FZ_OK);
    assert_string_equal(again.data_dir, "/tmp/a b");
    assert_string_equal(again.database, "sqlite:/tmp/a b/framezero.db");
    assert_string_equal(again.blobs, config.blobs);
    assert_string_equal(again.learned_names, "shared");
    assert_string_equal(again.log_level, "info");
    assert_string_equal(again.alert_internal, "10.0.0.0/8, hooks.local");
    assert_string_equal(again.alert_ca, "/tmp/ca.pem");
    assert_string_equal(again.smtp_url, "smtp://mail.example.com:587");
    assert_string_equal(again.smtp_user, "u");
    assert_string_equal(again.smtp_password, "p =#");
    assert_string_equal(again.smtp_tls, "required");
    assert_string_equal(again.mail_from, "a@b.c");
    assert_int_equal(again.workers, 3);
    assert_true(again.supervise);
    assert_int_equal(again.limits.frames, 7);
    assert_memory_equal(&again.limits, &config.limits, sizeof(config.limits));
}

static void
test_missing_file(void **state)
{
    (void)state;
    char program[] = "serve", flag[] = "--config=/nonexistent/framezero.conf";
    char *argv[] = {program, flag, NULL};
    struct config config;
    struct fz_error err;
    assert_int_equal(config_load(&serve, 2, argv, false, &config, &err), FZ_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "configuration: /nonexistent/framezero.conf"));
}

static void
test_not_allowed(void **state)
{
    (void)state;
    static const struct command_spec few = {
        .name = "token list", .operands = "", .settings = config_settings, .role = CONFIG_STORE};
    char program[] = "token", flag[] = "--listen", value[] = ":1";
    char *argv[] = {program, flag, value, NULL};
    struct config config;
    struct fz_error err;
    assert_int_equal(config_load(&few, 3, argv, false, &config, &err), FZ_E_MALFORMED);
    assert_string_equal(err.text, "unknown option --listen");
}

/* What config_load() prints on standard error with this variable set. */
static void
check_warning(const char *variable, const char *want)
{
    static char text[1024];
    char program[] = "serve", *argv[] = {program, NULL}, temp[] = "/tmp/test_config_err_XXXXXX";
    struct config config;
    struct fz_error err = {.text = ""};
    int fd = mkstemp(temp), saved = dup(STDERR_FILENO);
    assert_true(fd >= 0 && saved >= 0 && unlink(temp) == 0);
    setenv(variable, "7", 1);
    dup2(fd, STDERR_FILENO);
    enum fz_code code = config_load(&serve, 1, argv, false, &config, &err);
    dup2(saved, STDERR_FILENO);
    unsetenv(variable);
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    close(fd);
    close(saved);
    assert_true(n >= 0);
    text[n] = '\0';
    assert_string_equal(err.text, "");
    assert_int_equal(code, FZ_OK);
    if (strcmp(text, want) != 0)
        fail_msg("%s: got '%s', want '%s'", variable, text, want);
}

static void
test_unknown_variables(void **state)
{
    (void)state;
    check_warning("FRAMEZERO_LISTN", "framezero serve: warning: the variable FRAMEZERO_LISTN is "
                                     "unknown and ignored; did you mean FRAMEZERO_LISTEN?\n");
    check_warning("FRAMEZERO_LIMIT_FRAME",
                  "framezero serve: warning: the variable FRAMEZERO_LIMIT_FRAME is unknown and "
                  "ignored; did you mean FRAMEZERO_LIMIT_FRAMES?\n");
    check_warning("FRAMEZERO_SOMETHING_ELSE",
                  "framezero serve: warning: the variable FRAMEZERO_SOMETHING_ELSE is unknown and "
                  "ignored\n");
    check_warning("FRAMEZERO_URL", "");
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
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_variables_for_workers),
        cmocka_unit_test(test_missing_file),
        cmocka_unit_test(test_not_allowed),
        cmocka_unit_test(test_unknown_variables),
        cmocka_unit_test(test_hide_password),
    };
    int fd = mkstemp(path);
    fz_closep(&fd);
    int failed = cmocka_run_group_tests(all, NULL, NULL);
    unlink(path);
    return failed;
}
