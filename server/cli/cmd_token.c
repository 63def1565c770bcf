/* framezero token: create, list and revoke tokens and ingest keys, on the database directly. */
#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/cli/tokens.h"
#include "server/config/term.h"
#include "storage/store.h"

static enum fz_code
set_label(const struct option_spec *option FZ_UNUSED, void *field, const char *value,
          const char *where FZ_UNUSED, struct fz_error *err FZ_UNUSED)
{
    *(const char **)field = value;
    return FZ_OK;
}

static const struct option_spec create_options[] = {
    {.name = "scope",
     .argument = "SCOPE,...",
     .complete = "ingest upload read variables admin",
     .set = token_scopes_set,
     .offset = offsetof(struct token_request, scopes),
     .help = "What the token may do: ingest (send reports), upload (send symbols), read, "
             "variables (with read: values of variables and memory), admin (everything)."},
    {.name = "project",
     .argument = "NAME",
     .offset = offsetof(struct token_request, project),
     .initial = "default",
     .help = "The project it belongs to; '*' for all projects."},
    {.name = "label",
     .argument = "TEXT",
     .set = set_label,
     .offset = offsetof(struct token_request, label),
     .help = "A note that 'token list' shows."},
    {.name = "sentry-url",
     .argument = "URL",
     .set = option_set_url,
     .offset = offsetof(struct token_request, sentry_url),
     .help = "Write the token in the form from which sentry-cli reads this server's address."},
    {.name = NULL},
};
static const struct command_example create_examples[] = {
    {"framezero token create --scope upload --label 'build server'", "a token for uploads"},
    {NULL, NULL},
};
static int run(const struct command_call *call);
static const struct command_spec create_spec = {
    .name = "token create",
    .summary = "create a token or an ingest key and print it",
    .operands = "",
    .required = "--scope SCOPE,...",
    .description =
        "Create a token and print it, once. With the scope 'ingest' alone it is an ingest "
        "key, which clients embed.",
    .options = create_options,
    .values_size = sizeof(struct token_request),
    .defaults = &(const struct token_request){.label = ""},
    .examples = create_examples,
    .settings = config_settings,
    .role = CONFIG_STORE,
    .run = run,
};
static const struct command_spec list_spec = {
    .name = "token list",
    .summary = "list the tokens",
    .operands = "",
    .description = "Print one line per token: id, first characters, project, scopes, time of "
                   "creation, valid or revoked, label.",
    .settings = config_settings,
    .role = CONFIG_STORE,
    .run = run,
};
static const struct command_spec revoke_spec = {
    .name = "token revoke",
    .summary = "revoke a token",
    .operands = "ID",
    .flags = COMMAND_NEEDS_OPERANDS,
    .description = "Revoke the token with the ID that 'token list' shows.",
    .settings = config_settings,
    .role = CONFIG_STORE,
    .run = run,
};
static const struct command_spec *const actions[] = {&create_spec, &list_spec, &revoke_spec, NULL};
const struct command_spec cmd_token = {
    .name = "token",
    .summary = "create, list and revoke tokens and ingest keys",
    .operands = "",
    .description = "Create, list and revoke tokens and ingest keys, in the database directly.",
    .actions = actions,
};

static int
run(const struct command_call *call)
{
    const struct command_spec *command = call->command;
    const struct token_request *request = call->values;
    FZ_CLEANUP(store_closep) struct store *store = NULL;
    struct config config;
    struct fz_error err;
    int64_t id = 0;
    enum fz_code code = FZ_OK;
    /* Before the database is opened: wrong usage has its own status, whatever state that is in. */
    if (command == &create_spec)
        code = token_request_check(request, &err);
    else if (command == &revoke_spec)
        code = token_id_parse(call->operands[0], &id, &err);
    if (code != FZ_OK)
        return term_wrong_usage(command->name, &err);
    if (!command_config(call, false, &config))
        return 2;
    code = store_open(config.database, &store, &err);
    if (code != FZ_OK)
        return term_failed(command->name, &err);
    if (command == &create_spec)
        code = token_create(store, request, &err);
    else if (command == &revoke_spec)
        code = store_token_revoke(store, id, &err);
    else
        code = token_list(store, &err);
    return code != FZ_OK ? term_failed(command->name, &err) : 0;
}
