#include "server/api/api_audit.h"

#include <jansson.h>
#include <string.h>

#include "base/json/walk.h"
#include "base/log.h"
#include "base/text.h"
#include "base/time.h"
#include "server/api/api_handlers.h"
#include "server/api/api_object.h"
#include "server/api/api_query.h"
#include "server/api/api_session.h"

enum { LIMIT_DEFAULT = 50, LIMIT_MAX = 500, NAMES_MAX = 20, NAME_MAX_LEN = 40 };

/* ---- writing --------------------------------------------------------------------------------- */

bool
api_audit_wants(const struct api_route *route)
{
    /* They change nothing. */
    static const char *const not [] = {"grouping_try", "scrubbing_preview", "channel_test"};
    if (route->scope != STORE_SCOPE_ADMIN || strcmp(route->method, "GET") == 0)
        /* An export of all that is known of a person is recorded as a change is. */
        return strcmp(route->name, "person_export") == 0;
    for (size_t i = 0; i < FZ_ARRAY_LEN(not ); i++) {
        if (strcmp(route->name, not [i]) == 0)
            return false;
    }
    return true;
}

static bool
is_name(struct fz_span key)
{
    for (size_t i = 0; i < key.len; i++) {
        uint8_t c = key.data[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'))
            return false;
    }
    return key.len > 0 && key.len <= NAME_MAX_LEN;
}

/* The names of the body's members, which are those of the settings. Never a value: it may be a secret. */
static enum fz_code
read_names(struct api_call *call, const char **ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct json_walk walk = json_walk_start(http_body(call->request));
    struct json_member member;
    for (size_t n = 0; n < NAMES_MAX && json_walk_next(&walk, &member);) {
        if (!is_name(member.key))
            continue;
        fz_buffer_text(&out, n++ ? ", " : "");
        fz_buffer_append(&out, member.key.data, member.key.len);
    }
    enum fz_code code = fz_buffer_done(&out, err);
    if (code == FZ_OK && out.len) {
        *ret = fz_arena_text(call->arena, fz_buffer_span(&out));
        if (!*ret)
            return fz_arena_fail(call->arena, err);
    }
    return code;
}

enum fz_code
api_audit_read(struct api_call *call, const struct api_route *route, struct store_audit *ret,
               struct fz_error *err)
{
    /* Of the patterns of routes; not {person}, which is what erasing is to remove. */
    static const char *const params[] = {"delivery", "id", "uuid", "number"};
    *ret = (struct store_audit){.project_id = call->project_id,
                                .sender_id = http_token_id(call->request),
                                .action = route->name};
    for (size_t i = 0; !ret->object && i < FZ_ARRAY_LEN(params); i++)
        ret->object = http_param(call->request, params[i]);
    /* Borrowed until the answer is given, and stored after it. */
    if (ret->object)
        ret->object = fz_arena_strdup(call->arena, ret->object);
    ret->address = fz_arena_strdup(call->arena, http_client_ip(call->request));
    enum fz_code code = route->body == API_BODY_JSON ? read_names(call, &ret->detail, err) : FZ_OK;
    return code == FZ_OK ? api_sender_name(call, &ret->actor, err) : code;
}

void
api_audit_store(struct api_call *call, const struct store_audit *entry)
{
    struct fz_error err;
    struct store_audit whole = *entry;
    whole.actor = whole.actor ? whole.actor : "?";
    whole.address = whole.address ? whole.address : "?";
    if (store_audit_add(call->store, &whole, &err) != FZ_OK)
        fz_log(FZ_LOG_WARN, "an entry of the audit log is lost", "action=%s error=\"%s\"",
               entry->action, err.text);
}

void
api_audit_login(struct api_call *call, const char *action, int64_t user_id, int64_t token_id)
{
    struct store_audit entry = {.sender_id = user_id ? -user_id : token_id,
                                .address = http_client_ip(call->request),
                                .action = action};
    struct store_user user = {0};
    enum fz_code code = FZ_E_NOT_FOUND;
    if (user_id)
        code = store_user_by_id(call->store, user_id, call->arena, &user, NULL);
    if (code == FZ_OK)
        entry.actor = user.email;
    /* Without a name if that cannot be read; an address that no user has may be a mistyped password. */
    if (token_id &&
        store_token_label(call->store, token_id, call->arena, &entry.actor, NULL) != FZ_OK)
        entry.actor = NULL;
    api_audit_store(call, &entry);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void
write_entry(struct json_write *w, const struct store_audit *entry)
{
    json_write_open(w, NULL, '{');
    json_write_i64(w, "id", entry->id);
    json_write_time(w, "at", entry->at_ms);
    json_write_text(w, "action", entry->action);
    json_write_text(w, "object", entry->object);
    json_write_text(w, "detail", entry->detail);
    json_write_open(w, "actor", '{');
    json_write_text(w, "kind",
                    entry->sender_id < 0   ? "user"
                    : entry->sender_id > 0 ? "token"
                                           : "other");
    if (entry->sender_id)
        json_write_i64(w, "id", entry->sender_id < 0 ? -entry->sender_id : entry->sender_id);
    json_write_text(w, "name", entry->actor);
    json_write_close(w, '}');
    json_write_text(w, "address", entry->address);
    if (!entry->project_id)
        json_write_bool(w, "all_projects", true);
    json_write_close(w, '}');
}

enum fz_code
api_audit_list(struct api_call *call, struct fz_error *err)
{
    struct store_audit_filter filter = {.project_id = call->project_id,
                                        .with_global =
                                            api_is_admin_of_all(call->api, call->request),
                                        .action = http_query(call->request, "action"),
                                        .actor = http_query(call->request, "actor")};
    struct store_page page = {.cursor = http_query(call->request, "cursor")};
    struct store_audit *list = NULL;
    struct store *store = NULL;
    enum fz_code code = api_query_limit(call->request, LIMIT_DEFAULT, LIMIT_MAX, &page.limit, err);
    if (code == FZ_OK)
        code = api_query_time(call->request, "since", &filter.since_ms, err);
    if (code == FZ_OK)
        code = api_query_time(call->request, "until", &filter.until_ms, err);
    /* What is of no project is not seen by connections that see one. */
    if (code == FZ_OK && filter.with_global)
        code = api_store_get_all(call->api, &store, err);
    if (code == FZ_OK)
        code =
            store_audit_list(store ? store : call->store, &filter, &page, call->arena, &list, err);
    api_store_put(call->api, store);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_open(&w, "entries", '[');
    for (size_t i = 0; i < page.n; i++)
        write_entry(&w, &list[i]);
    json_write_close(&w, ']');
    json_write_text(&w, "next_cursor", page.next);
    return api_answer(call, 200, &w, '}', err);
}
