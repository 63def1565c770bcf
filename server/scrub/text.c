/* Texts with marks: first the patterns of the project, then what is recognised by itself. */
#include "server/scrub/text.h"

#include <string.h>

#include "base/platform.h"

enum { STAR_MAX = 64 };

struct scrub
scrub_make(const struct scrub_rules *rules, struct fz_arena *arena)
{
    return (struct scrub){.rules = rules, .arena = arena};
}

size_t
scrub_count(const struct scrub *scrub)
{
    size_t n = 0;
    for (int kind = 0; kind < SCRUB_KINDS; kind++)
        n += scrub->n[kind];
    return n;
}

void
scrub_mark(struct scrub *scrub, enum scrub_kind kind, struct fz_buffer *out)
{
    scrub->n[kind]++;
    fz_buffer_printf(out, "[%s]", scrub_kind_names[kind]);
}

/* ---- patterns of the project ----------------------------------------------------------------- */

static size_t
part_len(struct fz_span pattern, size_t at)
{
    size_t n = 0;
    while (at + n < pattern.len && pattern.data[at + n] != '*')
        n++;
    return n;
}

/* The end of the word that `at` is in, at most STAR_MAX bytes on. */
static size_t
word_end(struct fz_span text, size_t at)
{
    size_t end = at;
    while (end < text.len && end - at < STAR_MAX && text.data[end] > ' ' && text.data[end] != '"')
        end++;
    /* Not within a character. */
    while (end < text.len && end > at && (text.data[end] & 0xc0) == 0x80)
        end++;
    return end;
}

/* What follows the first part, which ends at `at`. 0: it does not match. */
static size_t
match_rest(struct fz_span pattern, size_t p, struct fz_span text, size_t at)
{
    while (p < pattern.len) {
        size_t len = part_len(pattern, ++p), end = word_end(text, at);
        if (len == 0 && p >= pattern.len)
            return end;
        end = end + len < text.len ? end + len : text.len;
        const uint8_t *found =
            len ? fz_platform_find(text.data + at, end - at, pattern.data + p, len)
                : text.data + at;
        if (!found)
            return 0;
        at = (size_t)(found - text.data) + len;
        p += len;
    }
    return at;
}

static bool
find_pattern(struct fz_span pattern, struct fz_span text, size_t from, struct scrub_match *ret)
{
    size_t len = part_len(pattern, 0);
    while (from < text.len) {
        const uint8_t *found =
            fz_platform_find(text.data + from, text.len - from, pattern.data, len);
        if (!found)
            return false;
        size_t start = (size_t)(found - text.data),
               end = match_rest(pattern, len, text, start + len);
        *ret = (struct scrub_match){start, end, SCRUB_CUSTOM};
        if (end)
            return true;
        from = start + len;
    }
    return false;
}

static bool
replace_pattern(struct scrub *scrub, struct fz_span pattern, struct fz_span text,
                struct fz_buffer *out)
{
    struct scrub_match match;
    size_t done = 0;
    while (find_pattern(pattern, text, done, &match)) {
        fz_buffer_append(out, text.data + done, match.start - done);
        scrub_mark(scrub, SCRUB_CUSTOM, out);
        done = match.end;
    }
    if (done)
        fz_buffer_append(out, text.data + done, text.len - done);
    return done > 0;
}

static struct fz_span
keep(struct scrub *scrub, const struct fz_buffer *out)
{
    const char *copy = out->failed ? NULL : fz_arena_text(scrub->arena, fz_buffer_span(out));
    if (copy)
        return fz_span_make(copy, out->len);
    scrub->failed = true;
    return (struct fz_span){NULL, 0};
}

/* ---- what is recognised by itself ------------------------------------------------------------ */

struct fz_span
scrub_span(struct scrub *scrub, struct fz_span text, bool keeps_runs)
{
    const struct fz_span before = text;
    for (size_t i = 0; i < scrub->rules->n_text && text.len; i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
        if (replace_pattern(scrub, scrub->rules->text[i], text, &out))
            text = keep(scrub, &out);
    }
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct scrub_find find = scrub_find_start(text, scrub->rules->kinds);
    struct scrub_match match;
    size_t done = 0;
    find.keeps_runs = keeps_runs;
    while (scrub_find_next(&find, &match)) {
        fz_buffer_append(&out, text.data + done, match.start - done);
        scrub_mark(scrub, match.kind, &out);
        done = match.end;
    }
    if (done) {
        fz_buffer_append(&out, text.data + done, text.len - done);
        text = keep(scrub, &out);
    }
    if (scrub->seen && text.data != before.data)
        scrub->seen(scrub->user, before, text);
    return text;
}

const char *
scrub_text(struct scrub *scrub, const char *text)
{
    /* Texts in the arena end with a NUL, and so does the text that came. */
    return text ? (const char *)scrub_span(scrub, fz_span_cstr(text), false).data : NULL;
}

const char *
scrub_path(struct scrub *scrub, const char *path)
{
    static const char *const of_system[] = {"/System/", "/usr/lib/",
                                            "/private/var/containers/Bundle/",
                                            "/var/containers/Bundle/", "/Library/Apple/"};
    for (size_t i = 0; path && i < FZ_ARRAY_LEN(of_system); i++) {
        if (scrub->rules->n_text == 0 && strncmp(path, of_system[i], strlen(of_system[i])) == 0)
            return path;
    }
    /* Nearly all paths have nothing that could begin a match. */
    if (path && scrub->rules->n_text == 0 && !strpbrk(path, "@'=+: \xe2") &&
        !strstr(path, "/Users/") && !strstr(path, "/home/") && !strstr(path, "s-"))
        return path;
    /* Folders are named by UUIDs and hashes. */
    return path ? (const char *)scrub_span(scrub, fz_span_cstr(path), true).data : NULL;
}
