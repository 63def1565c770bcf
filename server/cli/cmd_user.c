/* framezero user: the users of the page, and links that let them in, on the database directly. */
#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/cli/users.h"
#include "server/config/term.h"
#include "storage/store.h"

static const struct option_spec invite_options[] = {
    {.name = "email",
     .argument = "ADDRESS",
     .offset = offsetof(struct user_request, email),
     .help = "Who is invited."},
    {.name = "role",
     .argument = "ROLE",
     .complete = "viewer member admin",
     .offset = offsetof(struct user_request, role),
     .initial = "member",
     .help = "What the user may do: viewer (read), member (also see values of variables, change "
             "issues, upload symbol files), admin (everything)."},
    {.name = "project",
     .argument = "NAME",
     .offset = offsetof(struct user_request, project),
     .initial = "default",
     .help = "The project for which the role counts; '*' for all projects."},
    {.name = NULL},
};
static const struct command_example invite_examples[] = {
    {"framezero user invite --email ann@example.com --role admin --project '*'",
     "a link for somebody who may do everything"},
    {NULL, NULL},
};
static int run(const struct command_call *call);
static const struct command_spec invite_spec = {
    .name = "user invite",
    .summary = "print a link with which somebody becomes a user",
    .operands = "",
    .required = "--email ADDRESS",
    .description =
        "Print a link that works once, for seven days. Whoever opens it chooses a name and a "
        "password, and is logged in. Somebody who is a user already gets the role at once.",
    .options = invite_options,
    .values_size = sizeof(struct user_request),
    .examples = invite_examples,
    .settings = config_settings,
    .role = CONFIG_STORE,
    .run = run,
};
static const struct command_spec reset_spec = {
    .name = "user reset",
    .summary = "print a link with which a user sets a new password",
    .operands = "ADDRESS",
    .flags = COMMAND_NEEDS_OPERANDS,
    .description = "Print a link that works once, for 24 hours. A new password ends all sessions "
                   "of the user.",
    .settings = config_settings,
    .role = CONFIG_STORE,
    .run = run,
};
static const struct command_spec remove_spec = {
    .name = "user remove",
    .summary = "remove a user",
    .operands = "ADDRESS",
    .flags = COMMAND_NEEDS_OPERANDS,
    .description = "Remove a user with roles and sessions. What the user did to issues stays.",
    .settings = config_settings,
    .role = CONFIG_STORE,
    .run = run,
};
static const struct command_spec list_spec = {
    .name = "user list",
    .summary = "list the users",
    .operands = "",
    .description = "Print one line per user: id, address, name, active or disabled, time of the "
                   "last login, roles.",
    .settings = config_settings,
    .role = CONFIG_STORE,
    .run = run,
};
static const struct command_spec *const actions[] = {&invite_spec, &list_spec, &reset_spec,
                                                     &remove_spec, NULL};
const struct command_spec cmd_user = {
    .name = "user",
    .summary = "invite, list and remove users of the page",
    .operands = "",
    .description = "Invite, list and remove users of the page, in the database directly.",
    .actions = actions,
};

static int
run(const struct command_call *call)
{
    const struct command_spec *command = call->command;
    FZ_CLEANUP(store_closep) struct store *store = NULL;
    struct user_request request = {0};
    struct config config;
    struct fz_error err;
    if (command == &invite_spec)
        request = *(const struct user_request *)call->values;
    else if (call->n_operands)
        request.email = call->operands[0];
    if (command == &invite_spec && !request.email) {
        fz_ignore(fz_fail(&err, FZ_E_MALFORMED, "--email ADDRESS is missing"));
        return term_wrong_usage(command->name, &err);
    }
    if (!command_config(call, false, &config))
        return 2;
    request.url = *config.public_url ? config.public_url : "http://127.0.0.1:8480";
    enum fz_code code = store_open(config.database, &store, &err);
    if (code != FZ_OK)
        return term_failed(command->name, &err);
    if (command == &invite_spec)
        code = user_invite(store, &request, &err);
    else if (command == &reset_spec)
        code = user_reset(store, &request, &err);
    else if (command == &remove_spec)
        code = user_remove(store, &request, &err);
    else
        code = user_list(store, &err);
    return code != FZ_OK ? term_failed(command->name, &err) : 0;
}
