/* Uploads as archives, made here with libarchive: what is found, what is passed over, what is too
 * much. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <archive.h>
#include <archive_entry.h>
#include <cmocka.h>

#include "base/attr.h"
#include "base/buffer.h"
#include "base/text.h"
#include "symbolicator/symbolicator.h"

enum { ROOM = 4 * 1024 * 1024 };

struct member {
    const char *name, *content, *link; /* link: a symbolic link to it */
    size_t size;                       /* if larger than the content, zeros follow */
};

static const char macho[] = "\xcf\xfa\xed\xfe the rest of it";

/* An archive of the members in `ret` (freed by the caller). */
static struct fz_span
pack(const char *format, const char *options, const struct member *members, size_t n)
{
    struct archive *a = archive_write_new();
    char *out = malloc(ROOM);
    size_t used = 0;
    assert_non_null(a);
    assert_non_null(out);
    const char *packed = strrchr(format, '.');
    if (strcmp(format, "zip") == 0) {
        assert_int_equal(archive_write_set_format_zip(a), ARCHIVE_OK);
    } else {
        if (format[0] == '.') /* one file, only compressed */
            assert_int_equal(archive_write_set_format_raw(a), ARCHIVE_OK);
        else
            assert_int_equal(archive_write_set_format_pax_restricted(a), ARCHIVE_OK);
        if (packed && strcmp(packed, ".gz") == 0)
            assert_int_equal(archive_write_add_filter_gzip(a), ARCHIVE_OK);
        if (packed && strcmp(packed, ".xz") == 0)
            assert_int_equal(archive_write_add_filter_xz(a), ARCHIVE_OK);
        if (packed && strcmp(packed, ".zst") == 0)
            assert_int_equal(archive_write_add_filter_zstd(a), ARCHIVE_OK);
    }
    if (options) {
        assert_int_equal(archive_write_set_options(a, options), ARCHIVE_OK);
        assert_int_equal(archive_write_set_passphrase(a, "secret"), ARCHIVE_OK);
    }
    assert_int_equal(archive_write_open_memory(a, out, ROOM, &used), ARCHIVE_OK);
    for (size_t i = 0; i < n; i++) {
        struct archive_entry *entry = archive_entry_new();
        size_t len = members[i].content ? strlen(members[i].content) : 0;
        size_t size = members[i].size > len ? members[i].size : len;
        archive_entry_set_pathname(entry, members[i].name);
        archive_entry_set_perm(entry, 0644);
        archive_entry_set_filetype(entry, members[i].link ? AE_IFLNK : AE_IFREG);
        if (members[i].link)
            archive_entry_set_symlink(entry, members[i].link);
        else
            archive_entry_set_size(entry, (la_int64_t)size);
        assert_int_equal(archive_write_header(a, entry), ARCHIVE_OK);
        char *bytes = calloc(1, size + 1);
        assert_non_null(bytes);
        if (len)
            memcpy(bytes, members[i].content, len);
        if (size)
            assert_true(archive_write_data(a, bytes, size) == (la_ssize_t)size);
        free(bytes);
        archive_entry_free(entry);
    }
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    return fz_span_make(out, used);
}

/* What the sink saw, as text: "name=content;". */
struct seen {
    struct fz_buffer text;
    enum fz_code fail; /* what write() returns */
};

static enum fz_code
on_begin(void *user, const char *name, struct fz_error *err FZ_UNUSED)
{
    struct seen *seen = user;
    fz_buffer_printf(&seen->text, "%s=", name);
    return FZ_OK;
}

static enum fz_code
on_write(void *user, uint64_t offset, struct fz_span bytes, struct fz_error *err)
{
    struct seen *seen = user;
    if (offset == 0 && bytes.len > 4) /* a byte that distinguishes the members */
        fz_buffer_append(&seen->text, bytes.data + 4, bytes.len > 6 ? 2 : bytes.len - 4);
    return seen->fail ? fz_fail(err, seen->fail, "the sink is full") : FZ_OK;
}

static enum fz_code
on_end(void *user, enum sym_member_state state, struct fz_error *err FZ_UNUSED)
{
    static const char *const states[] = {";", "(damaged);", "(broken);"};
    struct seen *seen = user;
    fz_buffer_text(&seen->text, states[state]);
    return FZ_OK;
}

struct walked {
    struct seen seen;
    struct sym_archive_summary summary;
    struct sym_problems problems;
    struct fz_error err;
};

static enum fz_code
walk(struct fz_span bytes, const struct sym_archive_limits *limits, struct walked *ret)
{
    struct sym_archive_sink sink = {.wants = sym_archive_wants_symbols,
                                    .begin = on_begin,
                                    .write = on_write,
                                    .end = on_end,
                                    .user = &ret->seen};
    fz_buffer_init(&ret->seen.text, 0);
    ret->problems.n = 0;
    ret->err = (struct fz_error){.code = FZ_OK};
    return sym_archive_walk(bytes, limits, &sink, &ret->summary, &ret->problems, &ret->err);
}

static struct sym_archive_limits
small_limits(void)
{
    return (struct sym_archive_limits){
        .member_bytes = 2 * 1024 * 1024, .bytes = 16 * 1024 * 1024, .entries = 20, .ratio = 200};
}

static void
test_formats(void **state FZ_UNUSED)
{
    static const char *const formats[] = {"zip", "tar", "tar.gz", "tar.xz", "tar.zst"};
    static const struct member members[] = {
        {"Demo.dSYM/Contents/Info.plist", "<?xml version", NULL, 0},
        {"Demo.dSYM/Contents/Resources/DWARF/Demo",
         "\xcf\xfa\xed\xfe"
         "D1 and more",
         NULL, 0},
        {"Demo.dSYM/Contents/Resources/DWARF/._Demo",
         "\xcf\xfa\xed\xfe"
         "D2",
         NULL, 0},
        {"__MACOSX/Demo",
         "\xcf\xfa\xed\xfe"
         "D3",
         NULL, 0},
        {"link", NULL, "/etc/passwd", 0},
        {"../../fat",
         "\xca\xfe\xba\xbe"
         "F1",
         NULL, 0},
        {"inner.zip", "PK\x03\x04 not looked into", NULL, 0},
        {"empty", "", NULL, 0},
        {"short", "\xcf\xfa", NULL, 0},
        {"thin32",
         "\xce\xfa\xed\xfe"
         "T1",
         NULL, 70000},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(formats); i++) {
        struct fz_span bytes = pack(formats[i], NULL, members, FZ_ARRAY_LEN(members));
        struct sym_archive_limits limits = small_limits();
        struct walked walked = {.seen = {.fail = FZ_OK}};
        enum fz_code code = walk(bytes, &limits, &walked);
        if (code != FZ_OK)
            fail_msg("%s: %s", formats[i], walked.err.text);
        assert_string_equal(fz_buffer_cstr(&walked.seen.text),
                            "Demo.dSYM/Contents/Resources/DWARF/Demo=D1;../../fat=F1;thin32=T1;");
        assert_int_equal(walked.summary.n_entries, FZ_ARRAY_LEN(members));
        assert_string_equal(walked.summary.format, i == 0 ? "zip" : "tar");
        assert_int_equal(walked.problems.n, 0);
        fz_buffer_deinit(&walked.seen.text);
        free((void *)(uintptr_t)bytes.data);
    }
}

static void
test_only_compressed(void **state FZ_UNUSED)
{
    static const char *const formats[] = {".gz", ".xz", ".zst"};
    static const struct member file = {"Demo",
                                       "\xcf\xfa\xed\xfe"
                                       "D1",
                                       NULL, 5000},
                               text = {"text", "no Mach-O at all", NULL, 0},
                               bomb = {"bomb",
                                       "\xcf\xfa\xed\xfe"
                                       "B1",
                                       NULL, 8 * 1024 * 1024};
    static const struct {
        const struct member *member;
        const char *seen;
        enum fz_code want;
    } cases[] = {{&file, "=D1;", FZ_OK}, {&text, "", FZ_OK}, {&bomb, NULL, FZ_E_LIMIT}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(formats); i++) {
        for (size_t k = 0; k < FZ_ARRAY_LEN(cases); k++) {
            struct fz_span bytes = pack(formats[i], NULL, cases[k].member, 1);
            struct sym_archive_limits limits = small_limits();
            struct walked walked = {.seen = {.fail = FZ_OK}};
            enum fz_code code = walk(bytes, &limits, &walked);
            if (code != cases[k].want)
                fail_msg("%s, %zu: %s", formats[i], k, walked.err.text);
            if (cases[k].seen)
                assert_string_equal(fz_buffer_cstr(&walked.seen.text), cases[k].seen);
            assert_string_equal(walked.summary.format, "compressed");
            fz_buffer_deinit(&walked.seen.text);
            free((void *)(uintptr_t)bytes.data);
        }
    }
}

static void
test_no_archive(void **state FZ_UNUSED)
{
    static const struct {
        const char *name, *bytes;
        size_t len;
        enum fz_code want;
    } cases[] = {
        {"nothing", NULL, 0, FZ_E_UNSUPPORTED},
        {"text", "hello, world", 12, FZ_E_UNSUPPORTED},
        {"cut gzip", "\x1f\x8b\x08\0\0\0\0\0\0\x03\x01", 11, FZ_E_MALFORMED},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct sym_archive_limits limits = small_limits();
        struct walked walked = {.seen = {.fail = FZ_OK}};
        enum fz_code code = walk(fz_span_make(cases[i].bytes, cases[i].len), &limits, &walked);
        if (code != cases[i].want)
            fail_msg("%s: %s %s", cases[i].name, fz_code_name(code), walked.err.text);
        fz_buffer_deinit(&walked.seen.text);
    }
}

static void
test_truncated(void **state FZ_UNUSED)
{
    static const struct member members[] = {{"a",
                                             "\xcf\xfa\xed\xfe"
                                             "A1",
                                             NULL, 3000},
                                            {"b",
                                             "\xcf\xfa\xed\xfe"
                                             "B1",
                                             NULL, 3000}};
    static const char *const formats[] = {"zip", "tar"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(formats); i++) {
        struct fz_span bytes =
            pack(formats[i], i == 0 ? "zip:compression=store" : NULL, members, 2);
        struct sym_archive_limits limits = small_limits();
        struct walked walked = {.seen = {.fail = FZ_OK}};
        bytes.len = i == 0 ? 5000 : 5500; /* inside the second member */
        assert_int_equal(walk(bytes, &limits, &walked), FZ_OK);
        assert_string_equal(fz_buffer_cstr(&walked.seen.text), "a=A1;b=B1(broken);");
        assert_true(walked.problems.n >= 1);
        assert_string_equal(sym_problem_kind_name(walked.problems.list[0].kind), "bad_member");
        fz_buffer_deinit(&walked.seen.text);
        free((void *)(uintptr_t)bytes.data);
    }
}

/* The bytes of `b` are other than the checksum's, or its header and the directory have different ones: its bytes are given, and a
 * problem names it; `a` and `c` are as they were. */
static void
check_damaged(bool has_header, const char *why)
{
    static const struct member members[] = {{"a", macho, NULL, 3000},
                                            {"b",
                                             "\xcf\xfa\xed\xfe"
                                             "B1",
                                             NULL, 200000},
                                            {"c", macho, NULL, 3000}};
    struct fz_span bytes = pack("zip", NULL, members, FZ_ARRAY_LEN(members));
    struct sym_archive_limits limits = small_limits();
    struct walked walked = {.seen = {.fail = FZ_OK}};
    /* The checksum is in the entry of the directory, 16 bytes after its signature. */
    size_t at = bytes.len;
    for (int n = 0; n < 2; n++)
        at = fz_text_find_last(fz_span_make(bytes.data, at), "PK\1\2");
    assert_true(at != SIZE_MAX);
    uint8_t *all = (uint8_t *)(uintptr_t)bytes.data;
    /* In the header before the member it is 14 bytes after the signature; libarchive writes 0 there: see the directory. */
    size_t header = fz_text_find_last(fz_span_make(bytes.data, at), "PK\3\4");
    header = fz_text_find_last(fz_span_make(bytes.data, header), "PK\3\4");
    assert_true(header != SIZE_MAX);
    if (has_header)
        memcpy(all + header + 14, all + at + 16, 4);
    all[at + 16] ^= 1;
    assert_int_equal(walk(bytes, &limits, &walked), FZ_OK);
    assert_string_equal(fz_buffer_cstr(&walked.seen.text), "a= t;b=B1(damaged);c= t;");
    assert_int_equal(walked.problems.n, 1);
    assert_string_equal(sym_problem_kind_name(walked.problems.list[0].kind), "bad_member");
    assert_non_null(strstr(walked.problems.list[0].text, why));
    fz_buffer_deinit(&walked.seen.text);
    free((void *)(uintptr_t)bytes.data);
}

static void
test_damaged(void **state FZ_UNUSED)
{
    check_damaged(false, "b: damaged: ZIP bad CRC");
    check_damaged(true, "b: damaged: Inconsistent CRC32 values");
}

/* What a terminal would act on is shown as text; of a long name the end is left. */
static void
test_names_are_visible(void **state FZ_UNUSED)
{
    /* In the archive in place of the second, which libarchive takes in any locale. */
    static const char odd[] = "\x1b[2Ja\xe2\x80\xae.dSYM/x\n", plain[] = "EBBBBDDD.dSYM/xN";
    static char longer[3001];
    struct member members[] = {{plain, macho, NULL, 0}, {longer, macho, NULL, 0}};
    memset(longer, 'a', sizeof(longer) - 1);
    memcpy(longer + sizeof(longer) - 5, "/End", 4);
    assert_int_equal(sizeof(odd), sizeof(plain));
    struct fz_span bytes = pack("zip", NULL, members, FZ_ARRAY_LEN(members));
    for (size_t at; (at = fz_text_find(bytes, plain)) != SIZE_MAX;)
        memcpy((uint8_t *)(uintptr_t)bytes.data + at, odd, sizeof(odd) - 1);
    struct sym_archive_limits limits = small_limits();
    struct walked walked = {.seen = {.fail = FZ_OK}};
    assert_int_equal(walk(bytes, &limits, &walked), FZ_OK);
    const char *seen = fz_buffer_cstr(&walked.seen.text);
    assert_true(fz_text_has_prefix(seen, "\\u001b[2Ja\\u202e.dSYM/x\\u000a= t;aaaa"));
    assert_true(fz_text_has_suffix(seen, "aaaa/End= t;"));
    assert_true(strlen(seen) < 1100);
    fz_buffer_deinit(&walked.seen.text);
    free((void *)(uintptr_t)bytes.data);
}

static void
test_encrypted(void **state FZ_UNUSED)
{
    static const struct member members[] = {{"a", macho, NULL, 0}};
    struct fz_span bytes = pack("zip", "encryption=traditional", members, 1);
    struct sym_archive_limits limits = small_limits();
    struct walked walked = {.seen = {.fail = FZ_OK}};
    assert_int_equal(walk(bytes, &limits, &walked), FZ_OK);
    assert_int_equal(walked.summary.n_encrypted, 1);
    assert_string_equal(sym_problem_kind_name(walked.problems.list[0].kind), "encrypted");
    assert_string_equal(walked.problems.list[0].text, "a: encrypted with a password");
    fz_buffer_deinit(&walked.seen.text);
    free((void *)(uintptr_t)bytes.data);
}

static void
test_limits(void **state FZ_UNUSED)
{
    static const struct member three[] = {
        {"a", macho, NULL, 4000}, {"b", macho, NULL, 4000}, {"c", macho, NULL, 4000}};
    static const struct member zeros[] = {{"bomb", macho, NULL, 2 * 1024 * 1024}};
    static const struct {
        const char *name, *format;
        const struct member *members;
        size_t n;
        struct sym_archive_limits limits;
        const char *want; /* the message; NULL: no failure */
    } cases[] = {
        {"all fit",
         "zip",
         three,
         3,
         {.bytes = 12000, .entries = 3, .ratio = 200, .member_bytes = 4000},
         NULL},
        {"entries",
         "zip",
         three,
         3,
         {.bytes = 12000, .entries = 2, .ratio = 200, .member_bytes = 4000},
         "the archive has more than 2 entries"},
        {"sum",
         "zip",
         three,
         3,
         {.bytes = 11999, .entries = 3, .ratio = 200, .member_bytes = 4000},
         "the archive unpacks to more than 11999 bytes"},
        {"sum of a stream",
         "tar.gz",
         three,
         3,
         {.bytes = 11999, .entries = 3, .ratio = 200, .member_bytes = 4000},
         "the archive unpacks to more than 11999 bytes"},
        {"member",
         "tar",
         three,
         3,
         {.bytes = 16000, .entries = 3, .ratio = 200, .member_bytes = 3999},
         "a member of the archive is larger than 3999 bytes"},
        {"ratio",
         "zip",
         zeros,
         1,
         {.bytes = 1 << 30, .entries = 3, .ratio = 200, .member_bytes = 1 << 30},
         "the archive unpacks to more than 200 times its size of "},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_span bytes = pack(cases[i].format, NULL, cases[i].members, cases[i].n);
        struct walked walked = {.seen = {.fail = FZ_OK}};
        enum fz_code code = walk(bytes, &cases[i].limits, &walked);
        if (code != (cases[i].want ? FZ_E_LIMIT : FZ_OK) ||
            (cases[i].want && !fz_text_has_prefix(walked.err.text, cases[i].want)))
            fail_msg("%s: %s %s", cases[i].name, fz_code_name(code), walked.err.text);
        fz_buffer_deinit(&walked.seen.text);
        free((void *)(uintptr_t)bytes.data);
    }
}

static void
test_sink_failure_ends_it(void **state FZ_UNUSED)
{
    static const struct member members[] = {{"a", macho, NULL, 0}, {"b", macho, NULL, 0}};
    struct fz_span bytes = pack("zip", NULL, members, 2);
    struct sym_archive_limits limits = small_limits();
    struct walked walked = {.seen = {.fail = FZ_E_UNAVAILABLE}};
    assert_int_equal(walk(bytes, &limits, &walked), FZ_E_UNAVAILABLE);
    assert_string_equal(walked.err.text, "the sink is full");
    assert_string_equal(fz_buffer_cstr(&walked.seen.text), "a= t");
    fz_buffer_deinit(&walked.seen.text);
    free((void *)(uintptr_t)bytes.data);
}

static void
test_magic(void **state FZ_UNUSED)
{
    static const struct {
        const char *bytes;
        size_t len;
        bool want;
    } cases[] = {
        {"\xfe\xed\xfa\xce", 4, true},
        {"\xce\xfa\xed\xfe", 4, true},
        {"\xfe\xed\xfa\xcf", 4, true},
        {"\xcf\xfa\xed\xfe", 4, true},
        {"\xca\xfe\xba\xbe", 4, true},
        {"\xca\xfe\xba\xbf", 4, true},
        {"\xbe\xba\xfe\xca", 4, true},
        {"\xcf\xfa\xed", 3, false},
        {"\x7f"
         "ELF",
         4, false},
        {"PK\x03\x04", 4, false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++)
        assert_int_equal(sym_macho_has_magic(fz_span_make(cases[i].bytes, cases[i].len)),
                         cases[i].want);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_only_compressed),
        cmocka_unit_test(test_no_archive),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_names_are_visible),
        cmocka_unit_test(test_encrypted),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_sink_failure_ends_it),
        cmocka_unit_test(test_magic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
