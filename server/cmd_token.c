/* framezero token: create, list and revoke tokens and ingest keys, on the database directly. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/time.h"
#include "server/cmd.h"
#include "server/config.h"
#include "storage/store.h"

enum { ARENA_BYTES = 64 * 1024 * 1024 };

static const struct {
    const char *name;
    unsigned scope;
} scopes[] = {{"ingest", STORE_SCOPE_INGEST},
              {"upload", STORE_SCOPE_UPLOAD},
              {"read", STORE_SCOPE_READ},
              {"admin", STORE_SCOPE_ADMIN}};

struct options {
    const char *project, *scope, *label;
    const char *sentry_url; /* NULL: a token of our own form */
    unsigned scopes;        /* `scope` read */
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
 * The form stands in server/doors/sentry_cli.c. */
static enum fz_code
print_sentry(const char *token, const char *url, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer claims = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    fz_buffer_printf(&claims, "{\"iat\":%" PRId64 ".0,\"url\":", fz_time_now_ms() / 1000);
    fz_text_json_append(&claims, fz_span_cstr(url));
    fz_buffer_text(&claims, ",\"region_url\":");
    fz_text_json_append(&claims, fz_span_cstr(url));
    fz_buffer_text(&claims, ",\"org\":\"framezero\"}");
    fz_buffer_text(&out, "sntrys_");
    fz_text_base64_append(&out, fz_buffer_span(&claims));
    fz_buffer_char(&out, '_');
    for (const char *c = token + strlen("fz_"); *c; c++)
        fz_buffer_char(&out, *c == '-' ? '+' : *c == '_' ? '/' : *c);
    enum fz_code code = fz_buffer_done(&claims, err);
    if (!code)
        code = fz_buffer_done(&out, err);
    if (!code)
        printf("%s\n", fz_buffer_cstr(&out));
    return code;
}

/* The token alone on standard output, so that a script can take it. */
static enum fz_code
create(struct store *store, const struct options *options, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_BYTES);
    struct store_project project = {0};
    int64_t id;
    char text[STORE_TOKEN_TEXT];
    enum fz_code code = FZ_OK;
    if (strcmp(options->project, "*") != 0)
        code = store_project_find(store, options->project, &arena, &project, err);
    if (!code)
        code =
            store_token_create(store, project.id, options->scopes, options->label, text, &id, err);
    if (!code && options->sentry_url)
        code = print_sentry(text, options->sentry_url, err);
    else if (!code)
        printf("%s\n", text);
    if (!code) {
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
        if (code)
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

static int
usage(FILE *to)
{
    fprintf(to,
            "usage: framezero token create --scope SCOPE[,SCOPE] [--project NAME] [--label TEXT]\n"
            "                              [--sentry-url URL]\n"
            "       framezero token list\n"
            "       framezero token revoke ID\n\n"
            "  --scope    ingest, upload, read, admin (all of them)\n"
            "  --project  default: 'default'; '*' is a token for all projects\n"
            "  --sentry-url URL  a token that tells sentry-cli this server's address\n"
            "  --data DIR, --database URL, --config FILE: the database\n\n"
            "create prints the token; list prints one line a token: id, first characters,\n"
            "project, scopes, created, valid or revoked, label.\n");
    return to == stdout ? 0 : 2;
}

int
cmd_token(int argc, char **argv)
{
    static const char *const allowed[] = {"data", "database", NULL};
    FZ_CLEANUP(store_closep) struct store *store = NULL;
    struct options options = {.project = "default", .label = ""};
    struct config config;
    struct fz_error err;
    if (config_take_flag(&argc, argv, "help"))
        return usage(stdout);
    if (argc < 2)
        return usage(stderr);
    const char *action = argv[1];
    bool is_create = strcmp(action, "create") == 0, is_revoke = strcmp(action, "revoke") == 0;
    uint64_t id = 0;
    if ((!is_create && !is_revoke && strcmp(action, "list") != 0) ||
        (is_revoke && (argc < 3 || !fz_text_u64(fz_span_cstr(argv[2]), &id) || id > INT64_MAX)))
        return usage(stderr);
    int used = is_revoke ? 2 : 1;
    argc -= used;
    argv += used;
    if (is_create && (config_take_value(&argc, argv, "scope", &options.scope, &err) ||
                      config_take_value(&argc, argv, "project", &options.project, &err) ||
                      config_take_value(&argc, argv, "label", &options.label, &err) ||
                      config_take_value(&argc, argv, "sentry-url", &options.sentry_url, &err))) {
        fprintf(stderr, "framezero token: %s\n", err.text);
        return 2;
    }
    if (is_create && (!options.scope ||
                      /* An ingest key has another form. */
                      (options.sentry_url && strcmp(options.scope, "ingest") == 0)))
        return usage(stderr);
    if ((is_create && parse_scopes(options.scope, &options.scopes, &err)) ||
        config_load(argc, argv, allowed, &config, &err)) {
        fprintf(stderr, "framezero token: %s\n", err.text);
        return 2;
    }
    enum fz_code code = store_open(config.database, &store, &err);
    if (!code)
        code = is_create   ? create(store, &options, &err)
               : is_revoke ? store_token_revoke(store, (int64_t)id, &err)
                           : list(store, &err);
    if (code)
        fprintf(stderr, "framezero token: %s\n", err.text);
    return code ? 1 : 0;
}
