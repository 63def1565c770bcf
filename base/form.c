/*
 * The body, byte by byte (CRLF shown as \r\n):
 *
 *   preamble, usually none
 *   --BOUNDARY\r\n                      at the start of the body or after \r\n
 *   Content-Disposition: form-data; name="file"; filename="Demo.zip"\r\n
 *   Content-Type: application/zip\r\n
 *   \r\n
 *   the content
 *   \r\n--BOUNDARY\r\n                  the next part, or
 *   \r\n--BOUNDARY--                    the end; what follows is ignored
 */
#include "base/form.h"

#include <ctype.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/platform.h"
#include "base/text.h"

enum {
    HEADER_BYTES = 8 * 1024,
    DELIMITER_BYTES = FZ_FORM_BOUNDARY + 4,
    PAGES = 64 * 1024, /* windows begin at a multiple of this, the largest page size there is */
};
static const uint64_t WINDOW = 64ULL * 1024 * 1024;

/* Names of fields and parameters do not depend on case. */
static bool
name_is(struct fz_span name, const char *want)
{
    return name.len == strlen(want) && strncasecmp((const char *)name.data, want, name.len) == 0;
}

/* A body in memory, or the part of a file that is mapped just now. */
struct source {
    int fd; /* -1: in memory */
    uint64_t size;
    struct fz_span window;
    uint64_t base; /* offset of the window in the body */
};

static void
unmap(struct source *source)
{
    union {
        const uint8_t *in;
        void *out;
    } data = {.in = source->window.data};
    if (source->fd >= 0 && source->window.len)
        munmap(data.out, source->window.len);
    source->window = (struct fz_span){NULL, 0};
}

/* What there is from `offset` on, at least `want` bytes unless the body ends before; *ret is
 * borrowed until the next call. */
static enum fz_code
look(struct source *source, uint64_t offset, uint64_t want, struct fz_span *ret,
     struct fz_error *err)
{
    uint64_t left = offset < source->size ? source->size - offset : 0;
    if (want > left)
        want = left;
    /* A body in memory is one window, so it never gets to mmap(). */
    bool inside = offset >= source->base && offset - source->base <= source->window.len &&
                  want <= source->window.len - (offset - source->base);
    if (!inside) {
        unmap(source);
        /* mmap() takes offsets that are multiples of the page size. */
        source->base = offset & ~(uint64_t)(PAGES - 1);
        uint64_t len = source->size - source->base;
        if (len > WINDOW)
            len = WINDOW;
        void *data =
            mmap(NULL, (size_t)len, PROT_READ, MAP_PRIVATE, source->fd, (off_t)source->base);
        if (data == MAP_FAILED)
            return fz_fail_errno(err, "multipart: cannot map the body");
        source->window = fz_span_make(data, (size_t)len);
    }
    uint64_t at = offset - source->base;
    if (left == 0 || !fz_span_sub(source->window, at, source->window.len - at, ret))
        *ret = (struct fz_span){NULL, 0};
    return FZ_OK;
}

/* The next `needle` at or after `offset`; *ret is the body's size if it does not occur. */
static enum fz_code
find(struct source *source, uint64_t offset, struct fz_span needle, uint64_t *ret,
     struct fz_error *err)
{
    for (;;) {
        struct fz_span bytes = {NULL, 0};
        enum fz_code code = look(source, offset, needle.len, &bytes, err);
        if (code != FZ_OK)
            return code;
        if (bytes.len < needle.len) {
            *ret = source->size;
            return FZ_OK;
        }
        const uint8_t *hit = fz_platform_find(bytes.data, bytes.len, needle.data, needle.len);
        if (hit) {
            *ret = offset + (uint64_t)(hit - bytes.data);
            return FZ_OK;
        }
        /* The needle may begin in the last bytes of this window and end in the next one. */
        offset += bytes.len - (needle.len - 1);
    }
}

/* What follows a delimiter: the end mark, or optional white space and a line end. */
enum mark { MARK_NONE, MARK_PART, MARK_END };

static enum mark
read_mark(struct fz_span bytes, size_t *ret_len)
{
    if (bytes.len >= 2 && bytes.data[0] == '-' && bytes.data[1] == '-')
        return MARK_END;
    size_t i = 0;
    while (i < bytes.len && i < FZ_FORM_BOUNDARY && (bytes.data[i] == ' ' || bytes.data[i] == '\t'))
        i++;
    if (bytes.len - i < 2 || bytes.data[i] != '\r' || bytes.data[i + 1] != '\n')
        return MARK_NONE;
    *ret_len = i + 2;
    return MARK_PART;
}

/* The next delimiter from `offset` on that is one; *ret_next is where its part begins. MALFORMED if
 * the body ends first. */
static enum fz_code
next_delimiter(struct source *source, uint64_t offset, struct fz_span delimiter, uint64_t *ret_at,
               uint64_t *ret_next, enum mark *ret_mark, struct fz_error *err)
{
    for (;;) {
        uint64_t at;
        enum fz_code code = find(source, offset, delimiter, &at, err);
        if (code != FZ_OK)
            return code;
        if (at == source->size)
            return fz_fail_at(err, FZ_E_MALFORMED, at,
                              "the multipart body ends without its closing delimiter");
        struct fz_span bytes;
        code = look(source, at + delimiter.len, FZ_FORM_BOUNDARY + 2, &bytes, err);
        if (code != FZ_OK)
            return code;
        size_t len = 0;
        enum mark mark = read_mark(bytes, &len);
        if (mark != MARK_NONE) {
            *ret_at = at;
            *ret_next = at + delimiter.len + len;
            *ret_mark = mark;
            return FZ_OK;
        }
        offset = at + 1; /* the boundary's text within the content */
    }
}

/* One parameter of a field: "; name=\"x\"". The value, unquoted, goes to `value`, which has room.
 */
struct parameter {
    struct fz_span name;
    size_t value_len;
};

/* The parameter after the next ';' from *at on; false at the end. */
static bool
next_parameter(struct fz_span field, size_t *at, struct parameter *ret, char *value)
{
    size_t i = *at;
    while (i < field.len && field.data[i] != ';')
        i++;
    for (i += i < field.len; i < field.len && (field.data[i] == ' ' || field.data[i] == '\t'); i++)
        ;
    size_t start = i;
    while (i < field.len && field.data[i] != '=' && field.data[i] != ';')
        i++;
    *ret = (struct parameter){.name = fz_span_make(field.data + start, i - start)};
    if (i < field.len && field.data[i] == '=') {
        i++;
        bool quoted = i < field.len && field.data[i] == '"';
        for (i += quoted; i < field.len && field.data[i] != (quoted ? '"' : ';'); i++) {
            /* Only \" and \\ are escapes: old browsers send Windows paths as they are. */
            if (quoted && field.data[i] == '\\' && i + 1 < field.len &&
                (field.data[i + 1] == '"' || field.data[i + 1] == '\\'))
                i++;
            value[ret->value_len++] = (char)field.data[i];
        }
    }
    *at = i;
    return start < field.len;
}

/* The value of the parameter `key` of a field, in the arena; *ret stays as it was without it. */
static enum fz_code
parameter(struct fz_span field, const char *key, struct fz_arena *arena, const char **ret,
          struct fz_error *err)
{
    char *value = fz_arena_alloc(arena, field.len + 1);
    if (!value)
        return fz_arena_fail(arena, err);
    struct parameter found;
    for (size_t at = 0; next_parameter(field, &at, &found, value);) {
        if (!name_is(found.name, key))
            continue;
        const char *clean = fz_text_clean_utf8(arena, fz_span_make(value, found.value_len));
        if (!clean)
            return fz_arena_fail(arena, err);
        *ret = clean;
        return FZ_OK;
    }
    return FZ_OK;
}

static enum fz_code
parse_field(struct fz_span line, struct fz_form_part *part, struct fz_arena *arena,
            struct fz_error *err)
{
    const uint8_t *colon = line.len ? memchr(line.data, ':', line.len) : NULL;
    if (!colon)
        return FZ_OK; /* no field; nothing depends on it */
    struct fz_span name = fz_span_make(line.data, (size_t)(colon - line.data));
    struct fz_span value = fz_span_make(colon + 1, line.len - name.len - 1);
    while (value.len && (value.data[0] == ' ' || value.data[0] == '\t'))
        value = fz_span_make(value.data + 1, value.len - 1);
    if (name_is(name, "Content-Disposition")) {
        enum fz_code code = parameter(value, "name", arena, &part->name, err);
        return code != FZ_OK ? code : parameter(value, "filename", arena, &part->filename, err);
    }
    if (name_is(name, "Content-Type")) {
        part->content_type = fz_text_clean_utf8(arena, value);
        if (!part->content_type)
            return fz_arena_fail(arena, err);
    }
    return FZ_OK;
}

/* The part's header at `offset`; *ret_content is where its content begins. */
static enum fz_code
parse_header(struct source *source, uint64_t offset, struct fz_form_part *part,
             uint64_t *ret_content, struct fz_arena *arena, struct fz_error *err)
{
    struct fz_span bytes;
    enum fz_code code = look(source, offset, HEADER_BYTES, &bytes, err);
    if (code != FZ_OK)
        return code;
    /* look() gives what there is, which may be more than was asked for. */
    bool cut = bytes.len > HEADER_BYTES;
    if (cut)
        bytes.len = HEADER_BYTES;
    for (size_t at = 0;;) {
        const uint8_t *end =
            bytes.len > at ? fz_platform_find(bytes.data + at, bytes.len - at, "\r\n", 2) : NULL;
        if (!end)
            return fz_fail_at(err, cut ? FZ_E_LIMIT : FZ_E_MALFORMED, offset + bytes.len,
                              cut ? "a part's header is longer than 8 KiB"
                                  : "the multipart body ends within a part's header");
        size_t len = (size_t)(end - (bytes.data + at));
        if (len == 0) {
            *ret_content = offset + at + 2;
            return FZ_OK;
        }
        code = parse_field(fz_span_make(bytes.data + at, len), part, arena, err);
        if (code != FZ_OK)
            return code;
        at += len + 2;
    }
}

static enum fz_code
parse_parts(struct source *source, struct fz_span delimiter, struct fz_form_part *parts,
            size_t *ret_n, struct fz_arena *arena, struct fz_error *err)
{
    uint64_t at, next;
    enum mark mark = MARK_NONE;
    size_t n = 0;
    /* The first delimiter may be the first bytes of the body; it has no line break before it
     * then. */
    struct fz_span first = fz_span_make(delimiter.data + 2, delimiter.len - 2), bytes;
    enum fz_code code = look(source, 0, DELIMITER_BYTES + FZ_FORM_BOUNDARY + 2, &bytes, err);
    if (code != FZ_OK)
        return code;
    size_t len = 0;
    if (bytes.len >= first.len && memcmp(bytes.data, first.data, first.len) == 0)
        mark = read_mark(fz_span_make(bytes.data + first.len, bytes.len - first.len), &len);
    next = first.len + len;
    if (mark == MARK_NONE)
        code = next_delimiter(source, 0, delimiter, &at, &next, &mark, err);
    while (code == FZ_OK && mark == MARK_PART) {
        /* Counted before the part is read: its header would cost memory. */
        if (n == FZ_FORM_PARTS_MAX)
            return fz_fail_at(err, FZ_E_LIMIT, next, "more than %d parts", (int)FZ_FORM_PARTS_MAX);
        struct fz_form_part *part = &parts[n];
        *part = (struct fz_form_part){.name = ""};
        code = parse_header(source, next, part, &part->offset, arena, err);
        if (code == FZ_OK)
            code = next_delimiter(source, part->offset, delimiter, &at, &next, &mark, err);
        if (code == FZ_OK)
            part->len = at - part->offset;
        n++;
    }
    *ret_n = n;
    return code;
}

static enum fz_code
parse_source(struct source *source, const char *boundary, struct fz_arena *arena,
             struct fz_form_part **ret, size_t *ret_n, struct fz_error *err)
{
    char delimiter[DELIMITER_BYTES + 1] = "\r\n--";
    size_t len = strlen(boundary);
    /* Longer ones are not allowed, and an empty one would match every "--". */
    if (len == 0 || len >= FZ_FORM_BOUNDARY)
        return fz_fail(err, FZ_E_MALFORMED, "a boundary of %zu characters", len);
    /* With the line break: in the middle of a line the text is content. */
    memcpy(delimiter + 4, boundary, len);
    /* All at once: an array that grows in an arena leaves its old copies there. */
    struct fz_form_part *parts = fz_arena_array(arena, FZ_FORM_PARTS_MAX, sizeof(*parts));
    if (!parts)
        return fz_arena_fail(arena, err);
    size_t n = 0;
    enum fz_code code =
        parse_parts(source, fz_span_make(delimiter, len + 4), parts, &n, arena, err);
    unmap(source);
    if (code != FZ_OK)
        return code;
    *ret = parts;
    *ret_n = n;
    return FZ_OK;
}

enum fz_code
fz_form_parse(struct fz_span body, const char *boundary, struct fz_arena *arena,
              struct fz_form_part **ret, size_t *ret_n, struct fz_error *err)
{
    struct source source = {.fd = -1, .size = body.len, .window = body};
    return parse_source(&source, boundary, arena, ret, ret_n, err);
}

enum fz_code
fz_form_parse_fd(int fd, const char *boundary, struct fz_arena *arena, struct fz_form_part **ret,
                 size_t *ret_n, struct fz_error *err)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return fz_fail_errno(err, "multipart: the body");
    struct source source = {.fd = fd, .size = (uint64_t)info.st_size};
    return parse_source(&source, boundary, arena, ret, ret_n, err);
}

enum fz_code
fz_form_boundary(const char *content_type, char ret[FZ_FORM_BOUNDARY], struct fz_error *err)
{
    struct fz_span value = fz_span_cstr(content_type);
    /* Parameters follow the type after a semicolon. */
    size_t type_len = strcspn(content_type ? content_type : "", "; \t");
    if (!name_is(fz_span_make(value.data, type_len), "multipart/form-data"))
        return fz_fail(err, FZ_E_UNSUPPORTED, "the body is not multipart/form-data");
    struct fz_arena arena;
    fz_arena_init(&arena, 256 * 1024); /* a header field is 32 KiB at most */
    const char *boundary = NULL;
    enum fz_code code = parameter(value, "boundary", &arena, &boundary, err);
    size_t len = boundary ? strlen(boundary) : 0;
    bool usable = len > 0 && len < FZ_FORM_BOUNDARY;
    if (usable)
        memcpy(ret, boundary, len + 1);
    fz_arena_deinit(&arena);
    if (code != FZ_OK)
        return code;
    return usable ? FZ_OK
                  : fz_fail(err, FZ_E_MALFORMED,
                            "multipart/form-data needs a boundary of 1 to %d characters",
                            FZ_FORM_BOUNDARY - 1);
}

static bool
starts_with(struct fz_span text, const char *word)
{
    size_t len = strlen(word);
    return text.len >= len && strncasecmp((const char *)text.data, word, len) == 0;
}

bool
fz_form_find_boundary(struct fz_span body, char ret[FZ_FORM_BOUNDARY])
{
    size_t at = 0;
    /* Some senders begin a body with the line break that belongs to a delimiter. */
    while (at < body.len && (body.data[at] == '\r' || body.data[at] == '\n'))
        at++;
    size_t start = at + 2, end = start;
    if (body.len < start || memcmp(body.data + at, "--", 2) != 0)
        return false;
    while (end < body.len && end - start < FZ_FORM_BOUNDARY && isgraph(body.data[end]))
        end++;
    size_t len = end - start;
    while (end < body.len && (body.data[end] == ' ' || body.data[end] == '\t'))
        end++;
    if (len == 0 || len >= FZ_FORM_BOUNDARY || end + 2 > body.len ||
        memcmp(body.data + end, "\r\n", 2) != 0)
        return false;
    struct fz_span header = fz_span_make(body.data + end + 2, body.len - end - 2);
    if (!starts_with(header, "Content-"))
        return false;
    memcpy(ret, body.data + start, len);
    ret[len] = '\0';
    return true;
}

struct fz_span
fz_form_content(struct fz_span body, const struct fz_form_part *part)
{
    struct fz_span content = {NULL, 0};
    (void)fz_span_sub(body, part->offset, part->len, &content); /* parts are inside the body */
    return content;
}
