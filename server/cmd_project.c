/* framezero project: create and list projects, on the database directly. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "server/cmd.h"
#include "server/config.h"
#include "storage/store.h"

enum { ARENA_BYTES = 64 * 1024 * 1024 };

static enum fz_code
create(struct store *store, const char *name, struct fz_error *err)
{
    int64_t id;
    enum fz_code code = store_project_create(store, name, &id, err);
    if (!code)
        printf("%" PRId64 "\t%s\n", id, name);
    return code;
}

static enum fz_code
list(struct store *store, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_BYTES);
    struct store_project *projects;
    size_t n = 0;
    enum fz_code code = store_project_list(store, &arena, &projects, &n, err);
    for (size_t i = 0; !code && i < n; i++) {
        char created[FZ_TIME_TEXT];
        fz_time_format(projects[i].created_ms, created);
        printf("%" PRId64 "\t%s\t%s\n", projects[i].id, projects[i].name, created);
    }
    return code;
}

static int
usage(FILE *to)
{
    fprintf(to, "usage: framezero project create NAME [--data DIR] [--database URL]\n"
                "       framezero project list   [--data DIR] [--database URL]\n\n"
                "One line a project: id, name, created.\n");
    return to == stdout ? 0 : 2;
}

int
cmd_project(int argc, char **argv)
{
    static const char *const allowed[] = {"data", "database", NULL};
    FZ_CLEANUP(store_closep) struct store *store = NULL;
    struct config config;
    struct fz_error err;
    if (config_take_flag(&argc, argv, "help"))
        return usage(stdout);
    bool is_create = argc >= 3 && strcmp(argv[1], "create") == 0 && argv[2][0] != '-';
    bool is_list = argc >= 2 && strcmp(argv[1], "list") == 0;
    if (!is_create && !is_list)
        return usage(stderr);
    const char *name = is_create ? argv[2] : NULL;
    int used = is_create ? 2 : 1;
    if (config_load(argc - used, argv + used, allowed, &config, &err)) {
        fprintf(stderr, "framezero project: %s\n", err.text);
        return 2;
    }
    enum fz_code code = store_open(config.database, &store, &err);
    if (!code)
        code = is_create ? create(store, name, &err) : list(store, &err);
    if (code)
        fprintf(stderr, "framezero project: %s\n", err.text);
    return code ? 1 : 0;
}
