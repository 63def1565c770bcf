/* framezero token: create, list and revoke tokens and ingest keys, on the database directly. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json/write.h"
#include "base/text.h"
#include "base/time.h"
#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/config/term.h"
#include "storage/store.h"

enum { ARENA_BYTES = 64 * 1024 * 1024 };

static const struct {
    const char *name;
    unsigned scope;
} scopes[] = {{"ingest", STORE_SCOPE_INGEST},
              {"upload", STORE_SCOPE_UPLOAD},
              {"read", STORE_SCOPE_READ},
              {"admin", STORE_SCOPE_ADMIN}};

struct options_create {
    const char *project, *label;
    const char *sentry_url; /* NULL: a token of our own form */
    unsigned scopes;        /* STORE_SCOPE_*; 0 = not given */
};

/* "read,upload" */
static enum fz_code
parse_scopes(const char *text, unsigned *ret, struct fz_error *err)
{
    unsigned found = 0;
    while (*text) {
        size_t len = strcspn(text, ","), i = 0;
        while (i < FZ_ARRAY_LEN(scopes) &&
               (strlen(scopes[i].name) != len || strncmp(scopes[i].name, text, len) != 0))
            i++;
        if (i == FZ_ARRAY_LEN(scopes))
            return fz_fail(err, FZ_E_MALFORMED,
                           "--scope: '%.*s' is none of ingest, upload, read, admin", (int)len,
                           text);
        found |= scopes[i].scope;
        text += len + (text[len] == ',');
    }
    if (!found)
        return fz_fail(err, FZ_E_MALFORMED, "--scope: empty");
    *ret = found;
    return FZ_OK;
}

static void
print_scopes(unsigned found)
{
    const char *comma = "";
    for (size_t i = 0; i < FZ_ARRAY_LEN(scopes); i++) {
        if (found & scopes[i].scope) {
            printf("%s%s", comma, scopes[i].name);
            comma = ",";
        }
    }
}

/* The token as sentry-cli knows tokens of an organisation: it reads the server's address out of it.
 * The form stands in server/clients/sentry/cli_request.c. */
static enum fz_code
print_sentry(const char *token, const char *url, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer claims = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    char issued_at[32]; /* a real number, as the client's own tokens have it */
    snprintf(issued_at, sizeof(issued_at), "%" PRId64 ".0", fz_time_now_ms() / 1000);
    struct json_write w = json_write_start(&claims);
    json_write_open(&w, NULL, '{');
    json_write_raw(&w, "iat", issued_at);
    json_write_text(&w, "url", url);
    json_write_text(&w, "region_url", url);
    json_write_text(&w, "org", "framezero");
    json_write_close(&w, '}');
    fz_buffer_text(&out, "sntrys_");
    fz_text_base64_append(&out, fz_buffer_span(&claims));
    fz_buffer_char(&out, '_');
    for (const char *c = token + strlen("fz_"); *c; c++)
        fz_buffer_char(&out, *c == '-' ? '+' : *c == '_' ? '/' : *c);
    enum fz_code code = fz_buffer_done(&claims, err);
    if (code == FZ_OK)
        code = fz_buffer_done(&out, err);
    if (code == FZ_OK)
        printf("%s\n", fz_buffer_cstr(&out));
    return code;
}

/* The token alone on standard output, so that a script can take it. */
static enum fz_code
create(struct store *store, const struct options_create *options, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_BYTES);
    struct store_project project = {0};
    int64_t id;
    char text[STORE_TOKEN_TEXT];
    enum fz_code code = FZ_OK;
    if (strcmp(options->project, "*") != 0)
        code = store_project_find(store, options->project, &arena, &project, err);
    if (code == FZ_OK)
        code =
            store_token_create(store, project.id, options->scopes, options->label, text, &id, err);
    if (code == FZ_OK && options->sentry_url)
        code = print_sentry(text, options->sentry_url, err);
    else if (code == FZ_OK)
        printf("%s\n", text);
    if (code == FZ_OK) {
        fprintf(stderr, "token %" PRId64 " for %s; it is shown only now\n", id,
                project.id ? project.name : "all projects");
    }
    return code;
}

static enum fz_code
list(struct store *store, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_BYTES);
    struct store_token *tokens = NULL;
    size_t n = 0;
    enum fz_code code = store_token_list(store, &arena, &tokens, &n, err);
    for (size_t i = 0; !code && i < n; i++) {
        struct store_project project = {.name = "*"};
        if (tokens[i].project_id)
            code = store_project_by_id(store, tokens[i].project_id, &arena, &project, err);
        if (code != FZ_OK)
            break;
        char created[FZ_TIME_TEXT];
        fz_time_format(tokens[i].created_ms, created);
        printf("%" PRId64 "\t%s\t%s\t", tokens[i].id, tokens[i].hint, project.name);
        print_scopes(tokens[i].scopes);
        printf("\t%s\t%s\t%s\n", created, tokens[i].revoked_ms ? "revoked" : "valid",
               tokens[i].label ? tokens[i].label : "");
    }
    return code;
}

static enum fz_code
set_scopes(const struct option_spec *option FZ_UNUSED, void *field, const char *value,
           const char *where FZ_UNUSED, struct fz_error *err)
{
    return parse_scopes(value, field, err);
}

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
     .complete = "ingest upload read admin",
     .set = set_scopes,
     .offset = offsetof(struct options_create, scopes),
     .help = "What the token may do: ingest (send reports), upload (send symbols), read, admin "
             "(everything)."},
    {.name = "project",
     .argument = "NAME",
     .set = option_set_text,
     .offset = offsetof(struct options_create, project),
     .initial = "default",
     .help = "The project it belongs to; '*' for all projects."},
    {.name = "label",
     .argument = "TEXT",
     .set = set_label,
     .offset = offsetof(struct options_create, label),
     .help = "A note that 'token list' shows."},
    {.name = "sentry-url",
     .argument = "URL",
     .set = option_set_url,
     .offset = offsetof(struct options_create, sentry_url),
     .help = "Write the token in the form from which sentry-cli reads this server's address."},
    {.name = NULL},
};
static const struct command_example create_examples[] = {
    {"framezero token create --scope upload --label 'build server'", "a token for uploads"},
    {NULL, NULL},
};
static int run_create(int argc, char **argv);
static int run_list(int argc, char **argv);
static int run_revoke(int argc, char **argv);
static int run(int argc, char **argv);
static const struct command_spec create_spec = {
    .name = "token create",
    .summary = "create a token or an ingest key and print it",
    .operands = "",
    .required = "--scope SCOPE,...",
    .description =
        "Create a token and print it, once. With the scope 'ingest' alone it is an ingest "
        "key, which clients embed.",
    .options = create_options,
    .examples = create_examples,
    .settings = config_settings,
    .role = CONFIG_STORE,
    .run = run_create,
};
static const struct command_spec list_spec = {
    .name = "token list",
    .summary = "list the tokens",
    .operands = "",
    .description = "Print one line per token: id, first characters, project, scopes, time of "
                   "creation, valid or revoked, label.",
    .settings = config_settings,
    .role = CONFIG_STORE,
    .run = run_list,
};
static const struct command_spec revoke_spec = {
    .name = "token revoke",
    .summary = "revoke a token",
    .operands = "ID",
    .flags = COMMAND_NEEDS_OPERANDS,
    .description = "Revoke the token with the ID that 'token list' shows.",
    .settings = config_settings,
    .role = CONFIG_STORE,
    .run = run_revoke,
};
static const struct command_spec *const actions[] = {&create_spec, &list_spec, &revoke_spec, NULL};
const struct command_spec cmd_token = {
    .name = "token",
    .summary = "create, list and revoke tokens and ingest keys",
    .operands = "",
    .description = "Create, list and revoke tokens and ingest keys, in the database directly.",
    .actions = actions,
    .run = run,
};

/* -1 with the store open, else the exit code. */
static int
open_store(const struct command_spec *command, int argc, char **argv, struct store **ret)
{
    struct config config;
    struct fz_error err;
    int ended = command_config(command, argc, argv, false, &config);
    if (ended < 0 && store_open(config.database, ret, &err) != FZ_OK)
        ended = term_failed(command->name, &err);
    return ended;
}

static int
run_create(int argc, char **argv)
{
    FZ_CLEANUP(options_deinit) struct options given = options_make();
    FZ_CLEANUP(store_closep) struct store *store = NULL;
    struct options_create options = {.label = ""};
    struct fz_error err;
    int ended = command_start(&create_spec, argc, argv, &options, &given);
    if (ended >= 0)
        return ended;
    if (!options.scopes) {
        fz_fail(&err, FZ_E_MALFORMED, "--scope SCOPE is missing: ingest, upload, read or admin");
        return term_wrong_usage(create_spec.name, &err);
    }
    if (options.sentry_url && options.scopes == STORE_SCOPE_INGEST) {
        fz_fail(&err, FZ_E_MALFORMED, "--sentry-url is for tokens; an ingest key has another form");
        return term_wrong_usage(create_spec.name, &err);
    }
    ended = open_store(&create_spec, argc, argv, &store);
    if (ended >= 0)
        return ended;
    return create(store, &options, &err) ? term_failed(create_spec.name, &err) : 0;
}

static int
run_list(int argc, char **argv)
{
    FZ_CLEANUP(options_deinit) struct options given = options_make();
    FZ_CLEANUP(store_closep) struct store *store = NULL;
    struct fz_error err;
    int ended = command_start(&list_spec, argc, argv, NULL, &given);
    if (ended < 0)
        ended = open_store(&list_spec, argc, argv, &store);
    if (ended >= 0)
        return ended;
    return list(store, &err) ? term_failed(list_spec.name, &err) : 0;
}

static int
run_revoke(int argc, char **argv)
{
    FZ_CLEANUP(options_deinit) struct options given = options_make();
    FZ_CLEANUP(store_closep) struct store *store = NULL;
    struct fz_error err;
    uint64_t id;
    int ended = command_start(&revoke_spec, argc, argv, NULL, &given);
    if (ended >= 0)
        return ended;
    if (!fz_text_u64(fz_span_cstr(given.operands[0]), &id) || id > INT64_MAX) {
        fz_fail(&err, FZ_E_MALFORMED,
                "'%.60s' is not the id of a token; 'framezero token list' shows the ids",
                given.operands[0]);
        return term_wrong_usage(revoke_spec.name, &err);
    }
    ended = open_store(&revoke_spec, argc, argv, &store);
    if (ended >= 0)
        return ended;
    return store_token_revoke(store, (int64_t)id, &err) ? term_failed(revoke_spec.name, &err) : 0;
}

static int
run(int argc, char **argv)
{
    return command_run_action(&cmd_token, argc, argv);
}
