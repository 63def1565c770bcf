/*
 * Golden tests: each folder <format>/<case>/ holds what goes in and what must come out.
 *
 *   input.*              a body as a client sends it     -> report.json       (ingest, stacks, render)
 *                        with several reports in it      -> report-0.json, report-1.json...
 *   symbolicated.json    a finished report as stored     -> symbolicated.json (load, render)
 *                                                        -> symbolicated.crash, symbolicated.ips
 *
 * test_golden FOLDER... compares; test_golden --update FOLDER... writes what comes out, for review
 * by diff. JSON files are stored with a line break at the end.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "server/ingest/ingest.h"
#include "server/report/render.h"
#include "server/resolve/stack.h"

enum { FILE_MAX = 1 << 20 };

struct golden {
    const char *folder;
    bool update;
    int n_cases, n_bad;
};

static bool
read_file(const char *folder, const char *name, struct fz_buffer *ret)
{
    char path[PATH_MAX];
    struct stat st;
    struct fz_error err;
    fz_buffer_init(ret, 0);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (stat(path, &st) != 0)
        return false;
    if (fz_file_read(path, FILE_MAX, ret, &err) != FZ_OK) {
        fprintf(stderr, "%s\n", err.text);
        exit(2);
    }
    return true;
}

static void
compare(struct golden *g, const char *name, const struct fz_buffer *got)
{
    char path[PATH_MAX];
    struct fz_buffer want;
    struct fz_error err;
    snprintf(path, sizeof(path), "%s/%s", g->folder, name);
    g->n_cases++;
    if (g->update) {
        if (fz_file_write_atomic(path, fz_buffer_span(got), 0644, &err) != FZ_OK) {
            fprintf(stderr, "%s\n", err.text);
            exit(2);
        }
        return;
    }
    if (!read_file(g->folder, name, &want) ||
        !fz_span_equal(fz_buffer_span(got), fz_buffer_span(&want))) {
        fprintf(stderr, "%s differs:\n%s\n", path, fz_buffer_cstr(got));
        g->n_bad++;
    }
    fz_buffer_deinit(&want);
}

typedef enum fz_code (*render_fn)(const struct report *, const struct report_envelope *,
                                  struct fz_buffer *, struct fz_error *);

static void
render_and_compare(struct golden *g, render_fn render, const struct report *report,
                   const struct report_envelope *envelope, const char *name)
{
    struct fz_buffer out;
    struct fz_error err;
    fz_buffer_init(&out, 0);
    if (render(report, envelope, &out, &err) != FZ_OK) {
        fprintf(stderr, "%s: %s: %s\n", g->folder, name, err.text);
        g->n_bad++;
        return;
    }
    if (out.data[out.len - 1] != '\n')
        fz_buffer_char(&out, '\n');
    compare(g, name, &out);
    fz_buffer_deinit(&out);
}

/* The name of the file that begins with "input.", in `ret`. */
static bool
find_input(const char *folder, char ret[NAME_MAX + 1])
{
    bool found = false;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && !found && (entry = readdir(dir));) {
        found = strncmp(entry->d_name, "input.", 6) == 0;
        if (found)
            snprintf(ret, NAME_MAX + 1, "%s", entry->d_name);
    }
    if (dir)
        closedir(dir);
    return found;
}

/* The chains of threads with captured memory, as they are without symbol files. */
static enum fz_code
unwind(struct report *report, struct fz_arena *arena, struct fz_error *err)
{
    struct resolve_stacks stacks = resolve_stacks_make();
    enum fz_code code = resolve_stacks_unwind(&stacks, report, NULL, NULL, arena, err);
    resolve_stacks_deinit(&stacks);
    return code;
}

static void
run_item(struct golden *g, const struct ingest_item *item, const char *name)
{
    static const struct report_envelope received = {.id = "0192f0c4-7a11-7c3e-8f00-000000000001",
                                                    .project = "default",
                                                    .received_ms = 1795169473000};
    struct limits limits = limits_default();
    struct fz_arena arena;
    struct report report;
    struct fz_error err = item->err;
    fz_arena_init(&arena, limits.report_memory);
    if (item->code == FZ_OK &&
        ingest_parse_as(item->body, item->reader, &limits, &arena, &report, &err) == FZ_OK &&
        unwind(&report, &arena, &err) == FZ_OK) {
        render_and_compare(g, report_render_json, &report, &received, name);
    } else {
        fprintf(stderr, "%s: %s: %s\n", g->folder, name, err.text);
        g->n_bad++;
    }
    fz_arena_deinit(&arena);
}

static void
run_input(struct golden *g, const struct fz_buffer *in)
{
    struct limits limits = limits_default();
    struct ingest_item *items;
    struct fz_arena arena;
    struct fz_error err;
    size_t n, n_cut;
    fz_arena_init(&arena, limits.report_memory);
    if (ingest_split(fz_buffer_span(in), &limits, &arena, &items, &n, &n_cut, &err) != FZ_OK) {
        fprintf(stderr, "%s: %s\n", g->folder, err.text);
        g->n_bad++;
    } else if (n == 1) {
        run_item(g, items, "report.json");
    } else {
        for (size_t i = 0; i < n; i++) {
            char name[32];
            snprintf(name, sizeof(name), "report-%zu.json", i);
            run_item(g, &items[i], name);
        }
    }
    fz_arena_deinit(&arena);
}

static void
run_case(struct golden *g)
{
    struct limits limits = limits_default();
    struct report_envelope envelope;
    struct fz_arena arena;
    struct report report;
    struct fz_error err;
    struct fz_buffer in;
    char name[NAME_MAX + 1];
    fz_arena_init(&arena, limits.report_memory);
    if (find_input(g->folder, name) && read_file(g->folder, name, &in)) {
        run_input(g, &in);
        fz_buffer_deinit(&in);
    }
    if (read_file(g->folder, "symbolicated.json", &in)) {
        if (report_load_json(fz_buffer_span(&in), &arena, &report, &envelope, &err) == FZ_OK) {
            render_and_compare(g, report_render_json, &report, &envelope, "symbolicated.json");
            render_and_compare(g, report_render_crash, &report, &envelope, "symbolicated.crash");
            render_and_compare(g, report_render_ips, &report, &envelope, "symbolicated.ips");
        } else {
            fprintf(stderr, "%s: %s\n", g->folder, err.text);
            g->n_bad++;
        }
    }
    fz_buffer_deinit(&in);
    fz_arena_deinit(&arena);
}

int
main(int argc, char **argv)
{
    struct golden g = {.update = argc > 1 && strcmp(argv[1], "--update") == 0};
    for (int i = g.update ? 2 : 1; i < argc; i++) {
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
            g.folder = folder;
            run_case(&g);
        }
        closedir(dir);
    }
    printf("%d files, %d differ\n", g.n_cases, g.n_bad);
    return g.n_cases == 0 || g.n_bad > 0;
}
