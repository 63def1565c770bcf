/*
 * The commands of the server in a build without one (macOS, -DFZ_SERVER=OFF): each says so.
 */
#include "server/cli/cmd.h"
#include "server/config/term.h"

static int
refuse(const struct command_call *call)
{
    term_error(call->command->name,
               "this build has no server; use the container (docs/mac.md), or build "
               "framezero on Linux");
    return 2;
}

const struct command_spec cmd_serve = {.name = "serve", .flags = COMMAND_HIDDEN, .run = refuse};
const struct command_spec cmd_worker = {.name = "worker", .flags = COMMAND_HIDDEN, .run = refuse};
const struct command_spec cmd_migrate = {.name = "migrate", .flags = COMMAND_HIDDEN, .run = refuse};
const struct command_spec cmd_row_security = {
    .name = "row-security", .flags = COMMAND_HIDDEN, .run = refuse};
const struct command_spec cmd_prune = {.name = "prune", .flags = COMMAND_HIDDEN, .run = refuse};
const struct command_spec cmd_backup = {.name = "backup", .flags = COMMAND_HIDDEN, .run = refuse};
const struct command_spec cmd_restore = {.name = "restore", .flags = COMMAND_HIDDEN, .run = refuse};
const struct command_spec cmd_copy = {.name = "copy", .flags = COMMAND_HIDDEN, .run = refuse};
const struct command_spec cmd_token = {.name = "token", .flags = COMMAND_HIDDEN, .run = refuse};
const struct command_spec cmd_user = {.name = "user", .flags = COMMAND_HIDDEN, .run = refuse};
const struct command_spec cmd_project = {.name = "project", .flags = COMMAND_HIDDEN, .run = refuse};
