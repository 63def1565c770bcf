/* framezero row-security: PostgreSQL itself keeps requests from the rows of other projects; on the database directly. */
#include <stdio.h>

#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/config/term.h"
#include "storage/store_row_security.h"

static int run(const struct command_call *call);

static const struct command_spec on_spec = {
    .name = "row-security on",
    .summary = "turn it on, or bring it up to date",
    .operands = "",
    .description = "Make a role without a login for the requests of this database, and policies "
                   "for its tables. The user of --database must own the tables; if it may not make "
                   "roles, the command prints what somebody else has to do. Servers that run "
                   "notice it within seconds.",
    .settings = config_settings,
    .role = CONFIG_STORE,
    .run = run,
};
static const struct command_spec off_spec = {
    .name = "row-security off",
    .summary = "turn it off",
    .operands = "",
    .description = "Remove the policies. The role stays, for connections that have it.",
    .settings = config_settings,
    .role = CONFIG_STORE,
    .run = run,
};
static const struct command_spec status_spec = {
    .name = "row-security status",
    .summary = "print whether it is on",
    .operands = "",
    .description = "Print whether it is on, its role, and how many tables have policies.",
    .settings = config_settings,
    .role = CONFIG_STORE,
    .run = run,
};
static const struct command_spec *const actions[] = {&on_spec, &off_spec, &status_spec, NULL};
const struct command_spec cmd_row_security = {
    .name = "row-security",
    .summary = "let PostgreSQL keep projects apart, too",
    .operands = "",
    .description = "Every statement of the server names its project. With row security PostgreSQL "
                   "checks that as well: a connection that answers a request sees and changes the "
                   "rows of that request's project only (docs/security.md).",
    .actions = actions,
    .run = run,
};

static int
run(const struct command_call *call)
{
    FZ_CLEANUP(store_closep) struct store *store = NULL;
    struct store_row_security state = {.is_on = false};
    struct config config;
    struct fz_error err;
    if (!command_config(call, false, &config))
        return 2;
    enum fz_code code = store_open(config.database, &store, &err);
    if (code == FZ_OK && call->command == &on_spec)
        code = store_row_security_on(store, &err);
    if (code == FZ_OK && call->command == &off_spec)
        code = store_row_security_off(store, &err);
    if (code == FZ_OK)
        code = store_row_security_get(store, &state, &err);
    if (code != FZ_OK)
        return term_failed(call->command->name, &err);
    if (state.is_on)
        printf("on: role %s, policies of %zu tables\n", state.role, state.n_tables);
    else
        printf("off\n");
    return 0;
}
