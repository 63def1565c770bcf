/* framezero upload: every symbol file under some paths to a server, but only what it lacks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/cli/upload_send.h"
#include "server/config/term.h"

enum { TARGET_ROOM = 1024 };

struct arguments {
    const char *server, *token, *project;
    bool force;
};

struct target { /* what of the credentials file is used */
    char server[TARGET_ROOM], token[TARGET_ROOM];
};

/* ---- where to ---------------------------------------------------------------------------- */

/* What options and variables leave open comes from the credentials file of a server on this
 * machine. */
static enum fz_code
find_target(const struct arguments *options, const struct config *config, struct target *ret,
            struct fz_error *err)
{
    const char *server = options->server, *token = options->token;
    char path[PATH_MAX + 32];
    /* `serve` writes it on its first start, for the commands on the same machine. */
    snprintf(path, sizeof(path), "%s/credentials.json", config->data_dir);
    /* A file that is missing or broken leaves both unset, and the message names it. */
    json_auto_t *root = server && token ? NULL : json_load_file(path, 0, NULL);
    if (!server)
        server = json_string_value(json_object_get(root, "url"));
    if (!token)
        token = json_string_value(json_object_get(root, "admin_token"));
    if (!server || !token)
        return fz_fail(err, FZ_E_NOT_FOUND,
                       "no %s: give --server URL and --token TOKEN, or FRAMEZERO_URL and "
                       "FRAMEZERO_TOKEN, or --data DIR of a server here (%s cannot be read)",
                       server ? "token" : "server", path);
    if (fz_address_check_url(server, err) != FZ_OK) /* an option's value has been checked */
        return fz_wrap(err, "%s", path);
    snprintf(ret->server, sizeof(ret->server), "%s", server);
    snprintf(ret->token, sizeof(ret->token), "%s", token);
    /* Paths begin with a slash of their own. */
    for (size_t len = strlen(ret->server); len > 0 && ret->server[len - 1] == '/'; len--)
        ret->server[len - 1] = '\0';
    return FZ_OK;
}

static int
upload(const struct command_call *call, const struct config *config)
{
    const struct arguments *arguments = call->values;
    /* A copy: the texts of the JSON end with it. */
    struct target target;
    struct fz_error err;
    if (find_target(arguments, config, &target, &err) != FZ_OK)
        return term_failed(cmd_upload.name, &err);
    const struct upload_client_config to = {.server = target.server,
                                            .token = target.token,
                                            .project = arguments->project,
                                            .show_progress = isatty(STDERR_FILENO) == 1};
    return upload_send(&to, call->operands, call->n_operands, arguments->force);
}

static const struct option_spec own_options[] = {
    {.name = "server",
     .argument = "URL",
     .set = option_set_url,
     .offset = offsetof(struct arguments, server),
     .variable = "FRAMEZERO_URL",
     .fallback = "from DIR/credentials.json",
     .help = "The server, such as https://crashes.example.com."},
    {.name = "token",
     .argument = "TOKEN",
     .offset = offsetof(struct arguments, token),
     .variable = "FRAMEZERO_TOKEN",
     .fallback = "from DIR/credentials.json",
     .help = "A token with the scope 'upload'."},
    {.name = "project",
     .argument = "NAME",
     .offset = offsetof(struct arguments, project),
     .fallback = "default",
     .help = "The project, for a token of all projects."},
    {.name = "force",
     .offset = offsetof(struct arguments, force),
     .help = "Send also what the server has."},
    {.name = NULL},
};
static const struct command_example examples[] = {
    {"framezero upload Shop.xcarchive --server https://crashes.example.com --token $TOKEN",
     "everything in an archive that the server lacks"},
    {"framezero upload .", "everything in this folder, to the server on this machine"},
    {NULL, NULL},
};

static int
run(const struct command_call *call)
{
    struct config config;
    if (!command_config(call, false, &config))
        return 2;
    return upload(call, &config);
}

const struct command_spec cmd_upload = {
    .name = "upload",
    .summary = "send the dSYMs and binaries under some paths to a server",
    .operands = "PATH...",
    .complete = "file",
    .flags = COMMAND_NEEDS_OPERANDS,
    .description =
        "Send every dSYM and Mach-O found under PATH (a file, bundle, .xcarchive, folder or "
        "zip) that the server lacks. Exit status 0 only if everything found is stored.",
    .options = own_options,
    .values_size = sizeof(struct arguments),
    .settings = config_settings,
    .role = CONFIG_UPLOAD,
    .examples = examples,
    .run = run,
};
