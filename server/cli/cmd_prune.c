/* framezero prune: delete what projects keep no longer, or only say what that is; on the database directly. */
#include "base/buffer.h"
#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/cli/prune.h"
#include "server/config/term.h"

static int
run(const struct command_call *call)
{
    FZ_CLEANUP(store_closep) struct store *store = NULL;
    struct config config;
    struct fz_error err;
    bool is_held = false;
    if (!command_config(call, false, &config))
        return 2;
    enum fz_code code = store_open(config.database, &store, &err);
    if (code == FZ_OK)
        code = prune(store, call->values, &is_held, &err);
    if (code != FZ_OK)
        return term_failed(call->command->name, &err);
    if (is_held)
        term_warn(call->command->name, "more than a fifth of a project would be deleted at once: "
                                       "look at it with --dry-run, then confirm "
                                       "it with --confirm");
    return is_held ? 1 : 0;
}

static const struct option_spec options[] = {
    {.name = "project",
     .argument = "NAME",
     .offset = offsetof(struct prune_request, project),
     .help = "Only this project."},
    {.name = "dry-run",
     .offset = offsetof(struct prune_request, is_dry),
     .help = "Print what would be deleted, and delete nothing."},
    {.name = "confirm",
     .offset = offsetof(struct prune_request, is_confirmed),
     .help = "Delete it also if it is more than a fifth of a project.",
     .more = "That may be because the clock is wrong, or a setting was changed; a server waits "
             "then until somebody confirms it."},
    {.name = "vacuum",
     .offset = offsetof(struct prune_request, wants_vacuum),
     .help = "Afterwards write a database of SQLite anew without its free pages.",
     .more = "That needs as much free disk as the database has, and reports wait meanwhile."},
    {.name = NULL},
};
static const struct command_example examples[] = {
    {"framezero prune --dry-run", "what would be deleted of each project"},
    {"framezero prune --project shop --confirm", "let a sweep that waits go on"},
    {NULL, NULL},
};
const struct command_spec cmd_prune = {
    .name = "prune",
    .summary = "delete what projects keep no longer",
    .operands = "",
    .description = "Delete the reports, bodies and symbol files that a project keeps no longer by "
                   "its settings (framezero project set), as "
                   "a server does once an hour. Prints a line for each project and kind: how much "
                   "of it is stored, how much goes.\n\n"
                   "The exit code is 1 if a project was left out because too much of it would go.",
    .options = options,
    .values_size = sizeof(struct prune_request),
    .examples = examples,
    .settings = config_settings,
    .role = CONFIG_STORE,
    .run = run,
};
