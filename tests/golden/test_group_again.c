/*
 * A report that was stored before there were issues is grouped from its JSON: it must come to the same
 * stack, key and variant as one that is grouped when it is processed. For every golden case of every
 * format.
 *
 * test_group_again FOLDER..., as test_golden.c.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "server/group/group.h"
#include "server/ingest/ingest.h"
#include "server/report/render.h"
#include "server/resolve/resolve.h"

enum { FILE_MAX = 1 << 20 };

struct again {
    const char *path;
    int n_reports, n_bad;
};

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

static void
failed(struct again *r, const char *what, const struct fz_error *err)
{
    fprintf(stderr, "%s: %s: %s\n", r->path, what, err->text);
    r->n_bad++;
}

static bool
group(struct again *r, struct report *report, struct fz_arena *arena, struct fz_buffer *stack,
      struct group_result *ret)
{
    const struct group_rules rules = group_rules_builtin();
    struct fz_error err;
    enum fz_code code = group_report(report, &rules, arena, ret, &err);
    if (code == FZ_OK) {
        group_stack_encode(&ret->stack, stack);
        code = fz_buffer_done(stack, &err);
    }
    if (code != FZ_OK)
        failed(r, "grouping", &err);
    return code == FZ_OK;
}

static void
differs(struct again *r, const char *what, const char *before, const char *after)
{
    fprintf(stderr, "%s: %s differs: %s, from its JSON %s\n", r->path, what, before, after);
    r->n_bad++;
}

static void
compare(struct again *r, const struct group_result *a, const struct group_result *b,
        struct fz_span stack_a, struct fz_span stack_b)
{
    if (memcmp(a->key.hash, b->key.hash, sizeof(a->key.hash)) != 0 ||
        a->key.is_placeholder != b->key.is_placeholder)
        differs(r, "the key", a->key.words[0], b->key.words[0]);
    if (memcmp(a->variant.hash, b->variant.hash, sizeof(a->variant.hash)) != 0)
        differs(r, "the variant", a->variant.label, b->variant.label);
    if (strcmp(a->key.title, b->key.title) != 0)
        differs(r, "the title", a->key.title, b->key.title);
    if (!fz_span_equal(stack_a, stack_b))
        differs(r, "the stack", a->key.anchor, b->key.anchor);
}

static void
run_report(struct again *r, struct report *report, struct fz_arena *arena)
{
    const struct report_envelope envelope = {
        .id = "0192f0c4-7a11-7c3e-8f00-000000000001", .project = "default", .status = "partial"};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer before = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer after = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer json = fz_buffer_make(0);
    struct report loaded;
    struct report_envelope loaded_envelope;
    struct group_result a, b;
    struct fz_error err;
    r->n_reports++;
    if (!group(r, report, arena, &before, &a))
        return;
    if (report_render_json(report, &envelope, &json, &err) != FZ_OK ||
        report_load_json(fz_buffer_span(&json), arena, &loaded, &loaded_envelope, &err) != FZ_OK)
        failed(r, "JSON", &err);
    else if (group(r, &loaded, arena, &after, &b))
        compare(r, &a, &b, fz_buffer_span(&before), fz_buffer_span(&after));
}

/* As if each image had a symbol file: every second one a binary without DWARF, which leaves a better
 * file to be wished for. */
static bool
pretend_found(struct report *report, struct fz_arena *arena)
{
    for (size_t i = 0; i < report->n_images; i++) {
        struct report_image *image = &report->images[i];
        image->files = fz_arena_alloc(arena, sizeof(*image->files));
        if (!image->files)
            return false;
        image->n_files = 1;
        image->files[0] = (struct report_symbol_file){.kind = i % 2 ? "dsym" : "binary"};
        image->state = REPORT_IMAGE_FOUND;
        image->wants_better = i % 2 == 0;
    }
    return true;
}

static void
run_input(struct again *r)
{
    struct limits limits = limits_default();
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(limits.report_memory);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer in = fz_buffer_make(0);
    struct ingest_item *items;
    struct fz_error err;
    size_t n = 0, n_cut;
    if (fz_file_read(r->path, FILE_MAX, &in, &err) != FZ_OK)
        failed(r, "file", &err);
    else if (ingest_split(fz_buffer_span(&in), &limits, &arena, &items, &n, &n_cut, &err) != FZ_OK)
        n = 0; /* a case of a body that is refused */
    for (size_t i = 0; i < n; i++) {
        struct report report;
        if (items[i].code == FZ_OK &&
            ingest_parse_as(items[i].body, items[i].reader, &limits, &arena, &report, &err) ==
                FZ_OK &&
            resolve_report(&report, no_symbols, NULL, NULL, &arena, &err) == FZ_OK) {
            run_report(r, &report, &arena);
            if (pretend_found(&report, &arena))
                run_report(r, &report, &arena);
        }
    }
}

static void
run_case(struct again *r, const char *folder)
{
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[PATH_MAX];
        if (strncmp(entry->d_name, "input.", 6) != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        r->path = path;
        run_input(r);
    }
    if (dir)
        closedir(dir);
}

int
main(int argc, char **argv)
{
    struct again r = {0};
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
            run_case(&r, folder);
        }
        closedir(dir);
    }
    printf("%d reports grouped twice, %d differences\n", r.n_reports, r.n_bad);
    return r.n_bad == 0 && r.n_reports > 0 ? 0 : 1;
}
