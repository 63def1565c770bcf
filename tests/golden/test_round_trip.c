/*
 * What is written as Apple's text and as .ips is read back as the same crash: threads, frames,
 * names, files and lines, the exception's backtrace, images. For every golden case of every format.
 *
 * test_round_trip FOLDER..., as test_golden.c.
 */
#include <dirent.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "server/ingest/ingest.h"
#include "server/report/render.h"
#include "server/resolve/resolve.h"

enum { FILE_MAX = 1 << 20 };

typedef enum fz_code (*render_fn)(const struct report *, const struct report_envelope *,
                                  struct fz_buffer *, struct fz_error *);

struct round {
    const char *folder, *as;
    int n_reports, n_bad;
};

static void
differs(struct round *r, const char *what, size_t thread, size_t frame)
{
    fprintf(stderr, "%s, read back from %s: %s differs (thread %zu, frame %zu)\n", r->folder, r->as,
            what, thread, frame);
    r->n_bad++;
}

static bool
same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static const char *
base_name(const char *path)
{
    return path ? fz_text_base_name(path) : NULL;
}

static void
compare_symbol(struct round *r, const struct report_symbol *a, const struct report_symbol *b,
               size_t thread, size_t frame)
{
    if (!same_text(a->function, b->function))
        differs(r, "a function", thread, frame);
    /* The text has no place for a line without a file. */
    if (!same_text(base_name(a->file), base_name(b->file)) || (a->file && a->line != b->line))
        differs(r, "file or line", thread, frame);
    if (a->inlined != b->inlined || a->has_offset != b->has_offset || a->offset != b->offset)
        differs(r, "inlined or offset", thread, frame);
}

/* An address may be signed; then its image and the offset count. */
static uint64_t
address_of(const struct report *report, const struct report_frame *frame)
{
    if (frame->image < 0 || !frame->has_image_offset)
        return frame->addr;
    return report->images[frame->image].addr + frame->image_offset;
}

static void
compare_frames(struct round *r, const struct report *reports, const struct report_frame *a,
               const struct report_frame *b, size_t n, size_t thread)
{
    for (size_t i = 0; i < n; i++) {
        if (a[i].addr != b[i].addr &&
            address_of(&reports[0], &a[i]) != address_of(&reports[1], &b[i]))
            differs(r, "an address", thread, i);
        if (a[i].n_symbols != b[i].n_symbols) {
            differs(r, "the number of names", thread, i);
            continue;
        }
        for (size_t k = 0; k < a[i].n_symbols; k++)
            compare_symbol(r, &a[i].symbols[k], &b[i].symbols[k], thread, i);
    }
}

static int
compare_load(const void *a, const void *b)
{
    const struct report_image *x = a, *y = b;
    return x->addr != y->addr ? (x->addr < y->addr ? -1 : 1)
                              : memcmp(x->uuid.bytes, y->uuid.bytes, sizeof(x->uuid.bytes));
}

/* The text lists them by address. */
static void
compare_images(struct round *r, struct report *reports)
{
    /* An image of which only a name is known has no line in the text. */
    for (size_t k = 0; k < 2; k++) {
        size_t n = 0;
        for (size_t i = 0; i < reports[k].n_images; i++) {
            const struct report_image *image = &reports[k].images[i];
            if (image->addr || image->size > 1 || image->has_uuid)
                reports[k].images[n++] = *image;
        }
        reports[k].n_images = n;
    }
    if (reports[0].n_images != reports[1].n_images) {
        differs(r, "the number of images", 0, 0);
        return;
    }
    for (size_t k = 0; k < 2; k++) {
        if (reports[k].n_images)
            qsort(reports[k].images, reports[k].n_images, sizeof(*reports[k].images), compare_load);
    }
    for (size_t i = 0; i < reports[0].n_images; i++) {
        if (compare_load(&reports[0].images[i], &reports[1].images[i]) != 0)
            differs(r, "an image", 0, i);
    }
}

/* What an .ips has and the model does not know goes through an .ips: thread ids, placeholders among
 * the images, messages under their images, flags, keys of the header. */
static void
compare_extra(struct round *r, const struct report *a, const struct report *b)
{
    if (!same_text(a->format, "ips") || !same_text(b->format, "ips"))
        return;
    json_t *x = json_loads(a->extra_json ? a->extra_json : "{}", 0, NULL);
    json_t *y = json_loads(b->extra_json ? b->extra_json : "{}", 0, NULL);
    const char *key;
    json_t *value;
    json_object_foreach(x, key, value)
    {
        json_t *other = json_object_get(y, key);
        const char *place;
        json_t *image;
        /* The header of a report that came without one is new; a placeholder that was no object is
         * one now. */
        if (strcmp(key, "header") == 0)
            json_object_update_missing(value, other);
        if (strcmp(key, "usedImages") == 0)
            json_object_foreach(value, place, image)
                json_object_update_missing(image, json_object_get(other, place));
        if (!json_equal(value, other)) {
            fprintf(stderr, "extra.%s: %s\n", key, other ? json_dumps(other, JSON_ENCODE_ANY) : "");
            differs(r, "what the model does not know", 0, 0);
        }
    }
    if (!x || !y)
        differs(r, "extra is not JSON", 0, 0);
    json_decref(x);
    json_decref(y);
}

static void
compare(struct round *r, struct report *reports)
{
    const struct report *a = &reports[0], *b = &reports[1];
    const struct report_thread *crashed = report_crashed_thread(a);
    const struct report_thread *other = report_crashed_thread(b);
    if (crashed && other && crashed - a->threads != other - b->threads)
        differs(r, "the crashed thread", 0, 0);
    if (!same_text(a->crash.mach, b->crash.mach) || !same_text(a->crash.signal, b->crash.signal))
        differs(r, "mach or signal", 0, 0);
    /* Apple's text puts the name of the process in the place of a missing identifier. */
    const char *app_id = a->app_id || strcmp(r->as, "crash") != 0 ? a->app_id : b->app_id;
    if (!same_text(app_id, b->app_id) || a->timestamp_ms != b->timestamp_ms)
        differs(r, "app or time", 0, 0);
    if (a->n_threads != b->n_threads || a->n_exception_frames != b->n_exception_frames) {
        differs(r, "the number of threads", 0, 0);
        return;
    }
    for (size_t i = 0; i < a->n_threads; i++) {
        const struct report_thread *x = &a->threads[i], *y = &b->threads[i];
        if (x->n_frames != y->n_frames)
            differs(r, "the number of frames", i, 0);
        else
            compare_frames(r, reports, x->frames, y->frames, x->n_frames, i);
        if (!same_text(x->name, y->name) || !same_text(x->queue, y->queue))
            differs(r, "name or queue", i, 0);
    }
    compare_frames(r, reports, a->exception_frames, b->exception_frames, a->n_exception_frames, 0);
    compare_images(r, reports);
    if (strcmp(r->as, "ips") == 0)
        compare_extra(r, a, b);
}

static enum fz_code
no_symbols(void *user, const struct report_image *image, unsigned rank, struct resolve_found *ret,
           struct fz_error *err)
{
    (void)user;
    (void)image;
    (void)rank;
    (void)ret;
    return fz_fail(err, FZ_E_NOT_FOUND, "no symbol file");
}

/* Client names become the frames' names. */
static bool
read_report(struct fz_span body, struct fz_arena *arena, struct report *ret, struct fz_error *err)
{
    struct limits limits = limits_default();
    return ingest_parse(body, &limits, arena, ret, err) == FZ_OK &&
           resolve_report(ret, no_symbols, NULL, NULL, arena, err) == FZ_OK;
}

static void
run_report(struct round *r, struct report *report, struct fz_arena *arena)
{
    static const struct {
        const char *as;
        render_fn render;
    } forms[] = {{"crash", report_render_crash}, {"ips", report_render_ips}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(forms); i++) {
        struct report_envelope envelope = {.id = report->id};
        struct report reports[2] = {*report};
        struct fz_error err;
        struct fz_buffer out;
        fz_buffer_init(&out, 0);
        r->as = forms[i].as;
        r->n_reports++;
        if (forms[i].render(report, &envelope, &out, &err) != FZ_OK ||
            !read_report(fz_buffer_span(&out), arena, &reports[1], &err)) {
            fprintf(stderr, "%s: %s: %s\n%s\n", r->folder, r->as, err.text, fz_buffer_cstr(&out));
            r->n_bad++;
        } else {
            int before = r->n_bad;
            struct report_image *images = fz_arena_array(arena, report->n_images, sizeof(*images));
            if (report->n_images)
                memcpy(images, report->images, report->n_images * sizeof(*images));
            compare(r, reports);
            if (report->n_images) /* the comparison sorts them */
                memcpy(report->images, images, report->n_images * sizeof(*images));
            if (r->n_bad > before)
                fprintf(stderr, "%s\n", fz_buffer_cstr(&out));
        }
        fz_buffer_deinit(&out);
    }
}

/* A case of an .ips may have the text that Apple's tools make of it: what is rendered is that text,
 * line by line. */
static void
compare_with_apple(struct round *r, const struct report *report)
{
    char path[PATH_MAX];
    struct stat st;
    struct fz_error err;
    struct report_envelope envelope = {.id = report->id};
    snprintf(path, sizeof(path), "%s/apple.crash", r->folder);
    if (stat(path, &st) != 0)
        return;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer want = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer got = fz_buffer_make(0);
    r->n_reports++;
    if (fz_file_read(path, FILE_MAX, &want, &err) != FZ_OK ||
        report_render_crash(report, &envelope, &got, &err) != FZ_OK) {
        fprintf(stderr, "%s: %s\n", path, err.text);
        r->n_bad++;
        return;
    }
    const char *a = fz_buffer_cstr(&want), *b = fz_buffer_cstr(&got);
    for (size_t line = 1; *a || *b; line++) {
        size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
        if (n != m || memcmp(a, b, n) != 0) {
            fprintf(stderr, "%s:%zu:\n  Apple: %.*s\n  here:  %.*s\n", path, line, (int)n, a,
                    (int)m, b);
            r->n_bad++;
        }
        a += n + (a[n] == '\n');
        b += m + (b[m] == '\n');
    }
}

static void
run_input(struct round *r, const char *path)
{
    struct limits limits = limits_default();
    struct ingest_item *items;
    struct fz_buffer in;
    struct fz_arena arena;
    struct fz_error err;
    size_t n = 0, n_cut;
    fz_buffer_init(&in, 0);
    fz_arena_init(&arena, limits.report_memory);
    if (fz_file_read(path, FILE_MAX, &in, &err) != FZ_OK) {
        fprintf(stderr, "%s\n", err.text);
        r->n_bad++;
    } else if (ingest_split(fz_buffer_span(&in), &limits, &arena, &items, &n, &n_cut, &err) !=
               FZ_OK) {
        n = 0; /* a case of a body that is refused */
    }
    for (size_t i = 0; i < n; i++) {
        struct report report;
        if (items[i].code == FZ_OK && read_report(items[i].body, &arena, &report, &err)) {
            run_report(r, &report, &arena);
            compare_with_apple(r, &report);
        }
    }
    fz_arena_deinit(&arena);
    fz_buffer_deinit(&in);
}

/* The case's "input." file, if it has one. */
static void
run_case(struct round *r)
{
    DIR *dir = opendir(r->folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[PATH_MAX];
        if (strncmp(entry->d_name, "input.", 6) != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", r->folder, entry->d_name);
        run_input(r, path);
    }
    if (dir)
        closedir(dir);
}

int
main(int argc, char **argv)
{
    struct round r = {0};
    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        if (!dir) {
            fprintf(stderr, "%s: no such folder\n", argv[i]);
            return 2;
        }
        for (struct dirent *entry; (entry = readdir(dir));) {
            char folder[PATH_MAX];
            if (entry->d_name[0] == '.')
                continue;
            snprintf(folder, sizeof(folder), "%s/%s", argv[i], entry->d_name);
            r.folder = folder;
            run_case(&r);
        }
        closedir(dir);
    }
    printf("%d reports written and read back, %d differences\n", r.n_reports, r.n_bad);
    return r.n_bad == 0 && r.n_reports > 0 ? 0 : 1;
}
