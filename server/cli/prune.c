#include "server/cli/prune.h"

#include <inttypes.h>
#include <stdio.h>

#include "storage/store_jobs.h"
#include "storage/store_partitions.h"
#include "storage/store_retention.h"

enum { ARENA_BYTES = 64 * 1024 * 1024, AGAIN_MAX = 1000 };

/* Columns are separated by tabs, as cut and awk expect them. */
static void
print_line(const char *project, const char *what, uint64_t stored, uint64_t n)
{
    printf("%s\t%s\t%" PRIu64 "\t%" PRIu64 "\n", project, what, stored, n);
}

static void
print_due(const char *project, const struct store_retention_due *due)
{
    print_line(project, "reports by age", due->n_reports, due->n_aged);
    print_line(project, "reports thinned out", due->n_reports, due->n_thinned);
    print_line(project, "bodies", due->n_stored_bodies, due->n_bodies);
    print_line(project, "memory", due->n_stored_memory, due->n_memory);
    print_line(project, "symbol files", due->n_stored_symbols, due->n_symbols);
    printf("%s\tbytes\t\t%" PRIu64 "\n", project, due->bytes + due->symbol_bytes);
    if (due->is_over)
        fprintf(stderr, "framezero prune: %s: symbol files that are in use exceed keep_bytes\n",
                project);
}

/* Look, and delete unless that is too much. *ret_again: there is more. */
static enum fz_code
prune_once(struct store *store, const struct store_project *project,
           const struct prune_request *request, bool *ret_is_held, bool *ret_again,
           struct fz_error *err)
{
    FZ_CLEANUP(store_retention_plan_destroyp) struct store_retention_plan *plan = NULL;
    struct store_retention settings;
    struct store_retention_done done = {0};
    bool is_looked = false, is_done = request->is_dry, is_held = false, is_first = !*ret_again;
    enum fz_code code = store_retention_get(store, project->id, &settings, NULL, err);
    if (code == FZ_OK)
        code = store_retention_plan_create(store, project->id, &settings, &plan, err);
    while (code == FZ_OK && !is_looked)
        code = store_retention_look(store, plan, &is_looked, err);
    if (code != FZ_OK)
        return code;
    const struct store_retention_due *due = store_retention_due(plan);
    if (is_first)
        print_due(project->name, due);
    /* What is confirmed here is just what was looked at. */
    if (!request->is_dry && !request->is_confirmed)
        code = store_retention_hold(store, plan, &is_held, err);
    while (code == FZ_OK && !is_held && !is_done)
        code = store_retention_portion(store, plan, &done, &is_done, err);
    *ret_is_held = *ret_is_held || is_held;
    *ret_again = !is_held && !request->is_dry && due->is_cut && done.n_reports + done.n_bodies > 0;
    return code;
}

enum fz_code
prune(struct store *store, const struct prune_request *request, bool *ret_is_held,
      struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_BYTES);
    struct store_project *projects = NULL, one;
    size_t n = 1;
    enum fz_code code = request->project
                            ? store_project_find(store, request->project, &arena, &one, err)
                            : store_project_list(store, &arena, &projects, &n, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        bool is_again = false;
        code = prune_once(store, request->project ? &one : &projects[i], request, ret_is_held,
                          &is_again, err);
        for (int k = 0; code == FZ_OK && is_again && k < AGAIN_MAX; k++)
            code = prune_once(store, request->project ? &one : &projects[i], request, ret_is_held,
                              &is_again, err);
    }
    uint64_t n_rows = 0;
    /* Memory, and what the reports have named. */
    if (code == FZ_OK && !request->is_dry)
        code = store_sweep_rows(store, &n_rows, err);
    struct store_months_done months;
    if (code == FZ_OK && !request->is_dry)
        code = store_months_sweep(store, &months, err);
    if (code == FZ_OK && request->wants_vacuum && !request->is_dry)
        code = store_vacuum(store, err);
    return code;
}
