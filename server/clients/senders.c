/*
 * Crash senders: KSCrash's sinks, QuincyKit and HockeySDK, Breakpad and Crashpad, Bugsnag's
 * notifier. All post a report as body or in a form, in a format that is detected by its content.
 * What differs is the answer:
 *
 *   KSCrash     any 2xx; by default it deletes its reports whatever the answer is
 *   Quincy      200 and XML <result>0</result>; an empty body or another status: sends it again
 *   Hockey      200 and a property list; 400: deletes it; another status: sends it again
 *   Breakpad    200 and the report's id as text
 *   Socorro     200 and CrashID=bp-ID
 *   Bugsnag     any 2xx; 4xx: deletes it
 *
 * So a body that can never be read must not be answered to Quincy as an error: the client would
 * send it again at every start of the app.
 */
#include <stdio.h>
#include <string.h>

#include "base/json/write.h"
#include "server/api/api_client.h"
#include "server/clients/clients.h"

/* The key is in the path, since these clients have no setting but one URL. A header wins: a proxy
 * may add one. */
static const char *
find_key(const struct http_request *request, char room[API_TOKEN_ROOM])
{
    (void)room;
    if (http_header(request, "X-Framezero-Key") || api_bearer(request))
        return NULL; /* the usual places */
    return http_param(request, "key");
}

static void
respond_text(struct http_request *request, int status, const char *type, const char *text)
{
    http_respond(request, status, type, fz_span_cstr(text));
}

/* ---- answers ------------------------------------------------------------------------------ */

static void
answer_json(struct http_request *request, const struct api_accepted *accepted, void *user FZ_UNUSED)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct json_write w = json_write_start(&out);
    json_write_open(&w, NULL, '{');
    json_write_open(&w, "reports", '[');
    for (size_t i = 0; i < accepted->n; i++)
        json_write_text(&w, NULL, accepted->items[i].id);
    json_write_close(&w, ']');
    if (accepted->n_runs)
        json_write_u64(&w, "sessions", accepted->n_runs);
    /* The client deletes all of its reports now, so nothing else says that one is missing. */
    if (accepted->n_refused) {
        json_write_u64(&w, "refused", accepted->n_refused);
        json_write_text(&w, "refused_why", accepted->first->text);
    }
    json_write_close(&w, '}');
    http_respond_json(request, 200, fz_buffer_span(&out));
}

static const char xml_type[] = "application/xml; charset=utf-8";

static void
answer_quincy(struct http_request *request, const struct api_accepted *accepted FZ_UNUSED,
              void *user FZ_UNUSED)
{
    respond_text(request, 200, xml_type,
                 "<?xml version=\"1.0\" encoding=\"UTF-8\"?><result>0</result>\n");
}

static void
answer_hockey(struct http_request *request, const struct api_accepted *accepted,
              void *user FZ_UNUSED)
{
    char text[256];
    snprintf(text, sizeof(text),
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?><plist version=\"1.0\"><dict>"
             "<key>status</key><integer>1</integer><key>id</key><string>%s</string>"
             "</dict></plist>\n",
             accepted->items[0].id);
    respond_text(request, 200, xml_type, text);
}

/* "01a1fd89-6229-7952-8d90-74854818a5a1": what these clients store as the id of their report. */
static void
dashed(const char *id, char ret[40])
{
    snprintf(ret, 40, "%.8s-%.4s-%.4s-%.4s-%.12s", id, id + 8, id + 12, id + 16, id + 20);
}

static void
answer_id(struct http_request *request, const struct api_accepted *accepted, void *user FZ_UNUSED)
{
    char id[40];
    /* Crashpad stores the text as the id of its report. */
    dashed(accepted->items[0].id, id);
    respond_text(request, 200, "text/plain", id);
}

static void
answer_socorro(struct http_request *request, const struct api_accepted *accepted,
               void *user FZ_UNUSED)
{
    char id[40], text[64];
    dashed(accepted->items[0].id, id);
    snprintf(text, sizeof(text), "CrashID=bp-%s\n", id);
    respond_text(request, 200, "text/plain", text);
}

/* ---- bodies ------------------------------------------------------------------------------- */

struct sender {
    api_accepted_fn answer;
    /* Answers a body that can never be read; NULL: with the error. */
    void (*refuse)(struct http_request *request, const struct fz_error *err);
    bool counts_runs; /* KSCrash's run summaries, which may come without a report */
};

/* Answered as taken, although it is not a report: see above. */
static void
refuse_quincy(struct http_request *request, const struct fz_error *err)
{
    /* The client gets a 200, so only the log shows that nothing was stored. */
    http_log_note(request, "refused", fz_code_name(err->code));
    respond_text(request, 200, xml_type,
                 "<?xml version=\"1.0\" encoding=\"UTF-8\"?><result>-1</result>\n");
}

static void
refuse_400(struct http_request *request, const struct fz_error *err)
{
    http_respond_error_status(request, 400, err, NULL);
}

static void
post(void *app, struct http_request *request)
{
    const struct sender *sender = api_route_of(request)->user;
    struct fz_error err = {.offset = -1};
    const struct api_intake intake = {
        .api = app,
        .request = request,
        .project_id = http_project_id(request),
        .body = http_body(request),
        .answer = sender->answer,
        .counts_runs = sender->counts_runs,
    };
    enum fz_code code = api_intake(&intake, &err);
    if (code == FZ_OK)
        return;
    /* Other failures may pass, so the client is to send the report again. */
    bool for_good = code == FZ_E_MALFORMED || code == FZ_E_UNSUPPORTED || code == FZ_E_LIMIT;
    if (for_good && sender->refuse)
        sender->refuse(request, &err);
    else
        http_respond_error(request, &err);
}

static const struct sender kscrash = {.answer = answer_json, .counts_runs = true},
                           bugsnag = {.answer = answer_json},
                           quincy = {.answer = answer_quincy, .refuse = refuse_quincy},
                           hockey = {.answer = answer_hockey, .refuse = refuse_400},
                           minidump = {.answer = answer_id}, socorro = {.answer = answer_socorro};

/* ---- routes ------------------------------------------------------------------------------- */

/* clang-format off */
static const struct api_route rows[] = {
    {"POST", "/kscrash/{key}", "kscrash_post", .user = &kscrash},
    {"POST", "/quincy/{key}", "quincy_post", .user = &quincy},
    {"POST", "/crash_v300.php", "quincy_php_post", .user = &quincy}, /* ?key= */
    {"POST", "/api/2/apps/{key}/crashes", "hockey_post", .user = &hockey},
    {"POST", "/crashpad/{key}", "crashpad_post", .user = &minidump},
    {"POST", "/breakpad/{key}", "breakpad_post", .user = &minidump},
    {"POST", "/socorro/{key}", "socorro_post", .user = &socorro},
    {"POST", "/bugsnag/{key}", "bugsnag_post", .user = &bugsnag},
};
/* clang-format on */

const struct api_routes clients_senders = {
    .rows = rows,
    .n = FZ_ARRAY_LEN(rows),
    .defaults =
        {
            .scope = STORE_SCOPE_INGEST,
            .body = API_BODY_ENVELOPE,
            .flags = HTTP_ROUTE_LOOSE,
            .handle = post,
            .find_token = find_key,
        },
};
