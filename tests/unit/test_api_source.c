#include "server/api/api_source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"

static void
test_templates(void **state FZ_UNUSED)
{
    static const char host[] = "write out the host, with a / after it: https://github.com/...",
                      link[] = "an address has no blanks, quotes, <, >, \\, ^, ` and |",
                      start[] =
                          "begin with https:// or with one of the commands xed, code, idea, open",
                      shell[] =
                          "a command has letters, digits, blanks and _ . / : = + , @ % - only",
                      name[] = "between braces there is {path}, {line} or {version}",
                      path[] = "write {path} where the file goes";
    static const struct {
        const char *link, *want;
    } cases[] = {
        {"", NULL},
        {"https://github.com/acme/shop/blob/v{version}/{path}#L{line}", NULL},
        {"http://git.local:3000/a?f={path}&v={version}", NULL},
        {"http://[::1]:3000/{path}", NULL},
        {"xed --line {line} {path}", NULL},
        {"code -g {path}:{line}", NULL},
        {"open {path}", NULL},
        {"https://github.com/acme", path},
        {"https://{path}/a", host},
        {"https://github.com{path}", host},
        {"https://github.com@evil.example/{path}", host},
        {"https:///{path}", host},
        {"https://a.b/{path} x", link},
        {"https://a.b/\"onload=1/{path}", link},
        {"https://a.b/<b>{path}", link},
        {"https://a.b\\{path}", host},
        {"https://a.b/{path}/{branch}", name},
        {"https://a.b/{path}}", name},
        {"https://a.b/{{path}", name},
        {"javascript:alert(1)//{path}", start},
        {"JavaScript:alert(1)//{path}", start},
        {" https://a.b/{path}", start},
        {"HTTPS://a.b/{path}", start},
        {"data:text/html,{path}", start},
        {"file:///{path}", start},
        {"//a.b/{path}", start},
        {"rm {path}", start},
        {"xed{path}", start},
        {"xed $(touch x) {path}", shell},
        {"xed {path}; rm -r .", shell},
        {"xed {path} & a", shell},
        {"xed `a` {path}", shell},
        {"xed '{path}", shell},
        {"xed ~/a {path}", shell},
        {"xed {a,b} {path}", name},
        {"xed {path}\nrm", "it has control characters"},
        {"https://a.b/\t{path}", "it has control characters"},
        {"https://a.b/\x7f{path}", "it has control characters"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        const char *got = api_source_problem(cases[i].link);
        print_message("%s\n", cases[i].link);
        assert_string_equal(got ? got : "none", cases[i].want ? cases[i].want : "none");
    }
}

static void
test_longest_template(void **state FZ_UNUSED)
{
    char text[502];
    memset(text, 'a', sizeof(text) - 1);
    text[501] = '\0';
    memcpy(text, "https://a.b/{path}", strlen("https://a.b/{path}"));
    assert_string_equal(api_source_problem(text), "at most 500 bytes");
    text[500] = '\0';
    assert_null(api_source_problem(text));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_templates),
        cmocka_unit_test(test_longest_template),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
