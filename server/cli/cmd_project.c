/* framezero project: create and list projects, on the database directly. */
#include <inttypes.h>
#include <stdio.h>

#include "base/time.h"
#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/config/term.h"
#include "storage/store.h"

enum { ARENA_BYTES = 64 * 1024 * 1024 };

static enum fz_code
create(struct store *store, const char *name, struct fz_error *err)
{
    int64_t id;
    enum fz_code code = store_project_create(store, name, &id, err);
    if (code == FZ_OK)
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
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        /* Columns are separated by tabs, as cut and awk expect them. */
        char created[FZ_TIME_TEXT];
        fz_time_format(projects[i].created_ms, created);
        printf("%" PRId64 "\t%s\t%s\n", projects[i].id, projects[i].name, created);
    }
    return code;
}

static int
run(const struct command_call *call)
{
    FZ_CLEANUP(store_closep) struct store *store = NULL;
    struct config config;
    struct fz_error err;
    if (!command_config(call, false, &config))
        return 2;
    enum fz_code code = store_open(config.database, &store, &err);
    if (code == FZ_OK)
        code = call->n_operands ? create(store, call->operands[0], &err) : list(store, &err);
    return code != FZ_OK ? term_failed(call->command->name, &err) : 0;
}

static const struct command_spec create_spec = {
    .name = "project create",
    .summary = "create a project",
    .operands = "NAME",
    .flags = COMMAND_NEEDS_OPERANDS,
    .description = "Create a project and print its id and name.",
    .settings = config_settings,
    .role = CONFIG_STORE,
    .run = run,
};
static const struct command_spec list_spec = {
    .name = "project list",
    .summary = "list the projects",
    .operands = "",
    .description = "Print one line per project: id, name, time of creation.",
    .settings = config_settings,
    .role = CONFIG_STORE,
    .run = run,
};
static const struct command_spec *const actions[] = {&create_spec, &list_spec, NULL};
const struct command_spec cmd_project = {
    .name = "project",
    .summary = "create and list projects",
    .operands = "",
    .description = "Create and list projects, in the database directly.",
    .actions = actions,
};
