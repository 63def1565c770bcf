#include "server/clients/sentry/cli.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/json/scan.h"
#include "base/text.h"
#include "base/time.h"

enum { TREE_BYTES = 64 * 1024 * 1024, SECRET_TEXT = 43 };

/* ---- the token ------------------------------------------------------------------------------ */

/*
 * An organisation token as `framezero token create --sentry-url` prints it:
 *
 *   sntrys_ <base64 of {"iat":…,"url":"https://…","region_url":…,"org":"…"}> _ <43 characters>
 *
 * The client reads the server's address from it. The last part is the secret of a token of this
 * server in the other alphabet of base64: '+' for '-' and '/' for '_'.
 */
static const char *
unwrap(const char *token, char room[API_TOKEN_ROOM])
{
    /* A token of this server as it is. */
    if (strncmp(token, "sntrys_", 7) != 0)
        return token;
    /* It has no underscore itself, since its alphabet has '/' in its place. */
    const char *secret = strrchr(token, '_') + 1;
    if (strlen(secret) != SECRET_TEXT)
        return token;
    snprintf(room, API_TOKEN_ROOM, "fz_%s", secret);
    for (char *c = room + 3; *c; c++)
        *c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
    return room;
}

/* "Basic base64(user:password)": old clients send an API key as the user. */
static const char *
basic(const char *text, char room[API_TOKEN_ROOM])
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(16 * 1024);
    struct fz_span bytes;
    if (strlen(text) >= API_TOKEN_ROOM ||
        fz_text_base64_decode(fz_span_cstr(text), &arena, &bytes, NULL) != FZ_OK)
        return "";
    /* The password is empty: the user is the key. */
    const uint8_t *colon = bytes.len ? memchr(bytes.data, ':', bytes.len) : NULL;
    size_t len = colon ? (size_t)(colon - bytes.data) : bytes.len;
    /* A NUL would end the token early. */
    if (len == 0 || len >= API_TOKEN_ROOM || memchr(bytes.data, '\0', len))
        return "";
    memcpy(room, bytes.data, len);
    room[len] = '\0';
    return room;
}

const char *
sentry_cli_credential(const char *header, char room[API_TOKEN_ROOM])
{
    /* RFC 9110, 11.1: the scheme in any case. */
    if (strncasecmp(header, "Basic ", 6) == 0)
        return basic(header + 6, room);
    return strncasecmp(header, "Bearer ", 7) == 0 ? unwrap(header + 7, room) : NULL;
}

const char *
sentry_cli_token(const struct http_request *request, char room[API_TOKEN_ROOM])
{
    const char *header = http_header(request, "Authorization");
    return header ? sentry_cli_credential(header, room) : NULL;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

void
sentry_cli_error(const struct fz_error *err, int status FZ_UNUSED,
                 const char *detail_json FZ_UNUSED, struct fz_buffer *out)
{
    struct json_write w = json_write_start(out);
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "detail", err->text);
    json_write_close(&w, '}');
}

enum fz_code
sentry_cli_body(const struct api_call *call, json_t **ret, struct fz_error *err)
{
    const struct limits *limits = api_limits(call->api);
    const struct json_scan_limits bounds = {.depth = limits->json_depth,
                                            .output_bytes = limits->json_bytes * 2,
                                            .tree_bytes = TREE_BYTES};
    /* Some calls have nothing to say and send no body. */
    struct fz_span body = http_body(call->request);
    json_auto_t *json = NULL;
    enum fz_code code =
        json_scan_load(body.len ? body : fz_span_cstr("{}"), &bounds, NULL, &json, err);
    if (code != FZ_OK)
        return code;
    /* jansson gives NULL for members of anything else, which would look like an empty request. */
    if (!json_is_object(json) && !json_is_array(json))
        return fz_fail(err, FZ_E_MALFORMED, "the body is not a JSON object or array");
    *ret = fz_take(&json);
    return FZ_OK;
}

const char *
sentry_cli_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

int64_t
sentry_cli_time(const json_t *object, const char *key)
{
    const char *text = sentry_cli_text(object, key);
    int64_t ms = 0;
    /* A time that cannot be read does not cost the release. */
    return text && fz_time_parse(fz_span_cstr(text), &ms) && ms > 0 ? ms : 0;
}

void
sentry_cli_put_text(struct json_write *w, const char *key, const char *text)
{
    if (text)
        json_write_text(w, key, text);
    else
        json_write_null(w, key);
}

void
sentry_cli_put_time(struct json_write *w, const char *key, int64_t unix_ms)
{
    char text[FZ_TIME_TEXT];
    fz_time_format(unix_ms, text);
    sentry_cli_put_text(w, key, unix_ms > 0 ? text : NULL);
}

/* ---- debug files ---------------------------------------------------------------------------- */

static void
put_features(struct json_write *w, const struct sentry_dif *dif)
{
    json_write_open(w, "features", '[');
    if (dif->has_symtab)
        json_write_text(w, NULL, "symtab");
    if (dif->has_dwarf)
        json_write_text(w, NULL, "debug");
    if (dif->has_unwind)
        json_write_text(w, NULL, "unwind");
    if (dif->has_sources)
        json_write_text(w, NULL, "sources");
    json_write_close(w, ']');
}

void
sentry_cli_dif(struct json_write *w, const char *key, const struct sentry_dif *dif)
{
    char uuid[FZ_UUID_DASHED];
    fz_uuid_format_dashed(&dif->uuid, uuid);
    json_write_open(w, key, '{');
    json_write_text(w, "id", dif->id);
    json_write_text(w, "uuid", uuid);
    json_write_text(w, "debugId", uuid);
    /* Not stored: a Mach-O is found by its UUID. */
    json_write_null(w, "codeId");
    /* Sources and maps are for every architecture. */
    json_write_text(w, "cpuName", dif->arch ? dif->arch : "any");
    json_write_text(w, "objectName", dif->name ? dif->name : "");
    json_write_text(w, "symbolType",
                    strcmp(dif->type, "src") == 0     ? "sourcebundle"
                    : strcmp(dif->type, "other") == 0 ? "bcsymbolmap"
                                                      : "macho");
    json_write_open(w, "headers", '{');
    json_write_text(w, "Content-Type",
                    dif->arch ? "application/x-mach-binary" : "application/octet-stream");
    json_write_close(w, '}');
    json_write_u64(w, "size", dif->size);
    json_write_text(w, "sha1", dif->sha1);
    sentry_cli_put_time(w, "dateCreated", dif->created_ms);
    json_write_open(w, "data", '{');
    json_write_text(w, "type", dif->type);
    put_features(w, dif);
    json_write_close(w, '}');
    json_write_close(w, '}');
}

const char *
sentry_cli_type(enum store_symbol_kind kind)
{
    switch (kind) {
    case STORE_SYMBOL_DSYM:
        return "dbg";
    case STORE_SYMBOL_BINARY:
        return "exe";
    case STORE_SYMBOL_BCSYMBOLMAP:
    case STORE_SYMBOL_UUIDMAP:
        break;
    }
    return "other"; /* a symbol map, or the property list that names one */
}

void
sentry_cli_dif_of(const struct upload_file *file, struct sentry_dif *ret)
{
    *ret = (struct sentry_dif){
        .id = "",
        .sha1 = "",
        .name = file->name,
        .arch = *file->arch ? file->arch : NULL,
        .type = sentry_cli_type(file->kind),
        .uuid = file->uuid,
        .size = file->size,
        .has_symtab = file->features.symtab,
        .has_dwarf = file->features.dwarf,
        .has_unwind = file->features.unwind,
    };
}
