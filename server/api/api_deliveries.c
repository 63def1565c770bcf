/* What was sent through a channel: a test, the log of attempts, sending again. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/json/write.h"
#include "server/api/api_answer.h"
#include "server/api/api_channels.h"
#include "server/api/api_handlers.h"
#include "server/api/api_object.h"

enum { LIST_DEFAULT = 50, LIST_MAX = 200, TESTS_AT_ONCE = 4, SHOWN_MAX = 1024 };

/* ---- a test ------------------------------------------------------------------------------------ */

static void
write_outcome(struct json_write *w, const struct net_outcome *outcome)
{
    bool is_good = outcome->result == NET_ANSWERED &&
                   (outcome->status < 300 && (outcome->status >= 200 || outcome->status == 0));
    json_write_bool(w, "delivered", is_good);
    json_write_text(w, "result", outbox_result_name(outcome->result));
    if (outcome->status)
        json_write_u64(w, "status", (uint64_t)outcome->status);
    json_write_u64(w, "took_ms", (uint64_t)outcome->took_ms);
    if (outcome->text[0])
        json_write_text(w, "error", outcome->text);
    /* Any bytes; the writer replaces what is not UTF-8. */
    if (outcome->answer_len)
        json_write_span(w, "answer",
                        fz_span_make(outcome->answer, outcome->answer_len < SHOWN_MAX
                                                          ? outcome->answer_len
                                                          : SHOWN_MAX));
}

enum fz_code
api_channel_test(struct api_call *call, struct fz_error *err)
{
    struct store_channel channel;
    struct store_project project;
    struct net_outcome outcome;
    enum fz_code code = api_channel_find(call, &channel, err);
    if (code == FZ_OK)
        code = store_project_by_id(call->store, call->project_id, call->arena, &project, err);
    if (code != FZ_OK)
        return code;
    /* Each holds a thread for up to ten seconds; the others are for other requests. */
    if (atomic_fetch_add(&call->api->n_tests, 1) >= TESTS_AT_ONCE)
        code = fz_fail(err, FZ_E_UNAVAILABLE,
                       "other channels are being tested; try again in 10 seconds");
    else
        code = outbox_test(call->api->config.alerts, &channel, project.name, "An API client",
                           &outcome, err);
    atomic_fetch_sub(&call->api->n_tests, 1);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    write_outcome(&w, &outcome);
    return api_answer(call, 200, &w, '}', err);
}

/* ---- the log ----------------------------------------------------------------------------------- */

static void
write_attempt(struct json_write *w, const struct store_attempt *attempt)
{
    json_write_open(w, NULL, '{');
    json_write_u64(w, "n", attempt->n);
    json_write_time(w, "at", attempt->at_ms);
    json_write_u64(w, "took_ms", (uint64_t)attempt->took_ms);
    json_write_text(w, "result", attempt->result);
    if (attempt->status)
        json_write_u64(w, "status", (uint64_t)attempt->status);
    if (*attempt->error)
        json_write_text(w, "error", attempt->error);
    if (*attempt->answer)
        json_write_text(w, "answer", attempt->answer);
    json_write_close(w, '}');
}

static void
write_delivery(struct json_write *w, const struct store_delivery_row *row)
{
    json_write_open(w, NULL, '{');
    json_write_u64(w, "id", (uint64_t)row->id);
    json_write_text(w, "type", outbox_kind_name(row->kind));
    json_write_text(w, "message", row->message);
    json_write_text(w, "state", store_delivery_state_name(row->state));
    json_write_time(w, "at", row->at_ms);
    json_write_time(w, "next_attempt", row->due_ms);
    json_write_time(w, "ended", row->ended_ms);
    json_write_open(w, "attempts", '[');
    for (size_t i = 0; i < row->n_attempts; i++)
        write_attempt(w, &row->attempts[i]);
    json_write_close(w, ']');
    json_write_close(w, '}');
}

enum fz_code
api_delivery_list(struct api_call *call, struct fz_error *err)
{
    struct store_delivery_row *list = NULL;
    struct store_page page = {.cursor = http_query(call->request, "cursor")};
    enum fz_code code = api_query_limit(call->request, LIST_DEFAULT, LIST_MAX, &page.limit, err);
    if (code == FZ_OK)
        code = store_delivery_list(call->store, call->project_id,
                                   api_channel_number(call->request, "id"), &page, call->arena,
                                   &list, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_open(&w, "deliveries", '[');
    for (size_t i = 0; i < page.n; i++)
        write_delivery(&w, &list[i]);
    json_write_close(&w, ']');
    if (page.next)
        json_write_text(&w, "next_cursor", page.next);
    return api_answer(call, 200, &w, '}', err);
}

enum fz_code
api_delivery_resend(struct api_call *call, struct fz_error *err)
{
    int64_t id = api_channel_number(call->request, "delivery");
    enum fz_code code = store_delivery_resend(call->store, call->project_id,
                                              api_channel_number(call->request, "id"), id, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_u64(&w, "id", (uint64_t)id);
    json_write_text(&w, "state", store_delivery_state_name(STORE_DELIVERY_WAITING));
    return api_answer(call, 202, &w, '}', err);
}
