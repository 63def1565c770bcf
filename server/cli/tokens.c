#include "server/cli/tokens.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json/write.h"
#include "base/text.h"
#include "base/time.h"

enum { ARENA_BYTES = 64 * 1024 * 1024 };

static const struct {
    const char *name;
    unsigned scope;
} scopes[] = {{"ingest", STORE_SCOPE_INGEST}, {"upload", STORE_SCOPE_UPLOAD},
              {"read", STORE_SCOPE_READ},     {"variables", STORE_SCOPE_VARIABLES},
              {"write", STORE_SCOPE_WRITE},   {"admin", STORE_SCOPE_ADMIN}};

enum fz_code
token_scopes_set(const struct option_spec *option FZ_UNUSED, void *field, const char *text,
                 const char *where, struct fz_error *err)
{
    unsigned found = 0;
    while (*text) {
        size_t len = strcspn(text, ","), i = 0;
        while (i < FZ_ARRAY_LEN(scopes) &&
               (strlen(scopes[i].name) != len || strncmp(scopes[i].name, text, len) != 0))
            i++;
        if (i == FZ_ARRAY_LEN(scopes))
            return fz_fail(
                err, FZ_E_MALFORMED,
                "%s: '%.*s' is not one of: ingest, upload, read, variables, write, admin", where,
                (int)len, text);
        found |= scopes[i].scope;
        text += len + (text[len] == ',');
    }
    if (!found)
        return fz_fail(err, FZ_E_MALFORMED, "%s: the value is empty", where);
    *(unsigned *)field = found;
    return FZ_OK;
}

enum fz_code
token_request_check(const struct token_request *request, struct fz_error *err)
{
    if (!request->scopes)
        return fz_fail(err, FZ_E_MALFORMED,
                       "--scope SCOPE is missing: ingest, upload, read, variables, write or admin");
    if (request->sentry_url && request->scopes == STORE_SCOPE_INGEST)
        return fz_fail(err, FZ_E_MALFORMED,
                       "--sentry-url is for tokens; an ingest key has another form");
    return FZ_OK;
}

enum fz_code
token_id_parse(const char *text, int64_t *ret, struct fz_error *err)
{
    if (fz_text_i64(fz_span_cstr(text), ret) && *ret >= 0)
        return FZ_OK;
    return fz_fail(err, FZ_E_MALFORMED,
                   "'%.60s' is not the id of a token; 'framezero token list' shows the ids", text);
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

/* The token in the form of an organisation's tokens: sentry-cli reads the server's address from it.
 * Its form is described in server/clients/sentry/cli_request.c. */
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
    /* sentry-cli takes what follows the last underscore for the secret, so that has none: the
     * standard alphabet of base64, not the one of URLs. */
    for (const char *c = token + strlen("fz_"); *c; c++)
        fz_buffer_char(&out, *c == '-' ? '+' : *c == '_' ? '/' : *c);
    enum fz_code code = fz_buffer_done(&claims, err);
    if (code == FZ_OK)
        code = fz_buffer_done(&out, err);
    if (code == FZ_OK)
        printf("%s\n", fz_buffer_cstr(&out));
    return code;
}

enum fz_code
token_create(struct store *store, const struct token_request *request, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_BYTES);
    struct store_project project = {0};
    int64_t id;
    char text[STORE_TOKEN_TEXT];
    enum fz_code code = FZ_OK;
    /* Otherwise project.id stays 0, which means all of them. */
    if (strcmp(request->project, "*") != 0)
        code = store_project_find(store, request->project, &arena, &project, err);
    if (code == FZ_OK)
        code =
            store_token_create(store, project.id, request->scopes, request->label, text, &id, err);
    if (code == FZ_OK && request->sentry_url)
        code = print_sentry(text, request->sentry_url, err);
    else if (code == FZ_OK)
        printf("%s\n", text);
    if (code == FZ_OK) {
        /* Not on standard output: a script's TOKEN=$(framezero token create ...) is the token
         * alone. */
        fprintf(stderr, "token %" PRId64 " for %s; it is shown only now\n", id,
                project.id ? project.name : "all projects");
    }
    return code;
}

enum fz_code
token_list(struct store *store, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_BYTES);
    struct store_token *tokens = NULL;
    size_t n = 0;
    enum fz_code code = store_token_list(store, &arena, &tokens, &n, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
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
