#include "server/api/api_scrub.h"

#include <string.h>

#include "base/json/scan.h"
#include "base/json/walk.h"
#include "base/list.h"
#include "server/api/api_handlers.h"
#include "server/api/api_object.h"
#include "server/api/api_privacy.h"
#include "server/scrub/scrub.h"
#include "storage/store_report_search.h"

enum { REPORTS_DEFAULT = 50, REPORTS_MAX = 200, EXAMPLES_MAX = 20, EXAMPLE_BYTES = 200 };

static const char rules_detail[] = "{\"path\":\"scrub_rules\"}";

static const struct api_lines lines = {"scrub_rules", SCRUB_RULES_MAX, SCRUB_RULE_BYTES,
                                       rules_detail, "{\"scrub_rules\":[\"key:customer_number\"]}"};

void
api_scrub_write(struct json_write *w, const struct store_scrub *scrub)
{
    json_write_text(w, "scrub", scrub->is_on ? "on" : "off");
    api_privacy_write_lines(w, lines.key, scrub->rules, SCRUB_RULE_BYTES);
}

static enum fz_code
read_rules(struct api_call *call, const json_t *list, const char **ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    struct scrub_rules rules;
    enum fz_code code = api_privacy_join_lines(call, list, &lines, &text, err);
    const char *copy = code == FZ_OK ? fz_arena_text(call->arena, fz_buffer_span(&text)) : NULL;
    if (code == FZ_OK && !copy)
        return fz_arena_fail(call->arena, err);
    if (code == FZ_OK)
        code = scrub_rules_parse(copy, call->arena, &rules, err);
    if (code == FZ_E_MALFORMED)
        call->detail = rules_detail;
    if (code == FZ_OK)
        *ret = copy;
    return code;
}

enum fz_code
api_scrub_read(struct api_call *call, const json_t *root, struct store_scrub *ret, bool *ret_any,
               struct fz_error *err)
{
    const json_t *scrub = json_object_get(root, "scrub"), *rules = json_object_get(root, lines.key);
    const char *word = json_string_value(scrub);
    *ret_any = *ret_any || scrub || rules;
    if (scrub && (!word || (strcmp(word, "on") != 0 && strcmp(word, "off") != 0))) {
        call->detail = "{\"path\":\"scrub\"}";
        return fz_fail(err, FZ_E_MALFORMED, "scrub: neither \"on\" nor \"off\"");
    }
    if (word)
        ret->is_on = strcmp(word, "on") == 0;
    return rules ? read_rules(call, rules, &ret->rules, err) : FZ_OK;
}

/* ---- preview --------------------------------------------------------------------------------- */

struct example {
    const char *report, *before, *after;
};

struct preview {
    struct fz_arena *arena; /* of the examples */
    const char *report;     /* that is looked at */
    struct example examples[EXAMPLES_MAX];
    size_t n_examples;
};

static const char *
shorten(struct fz_arena *arena, struct fz_span text)
{
    size_t len = text.len < EXAMPLE_BYTES ? text.len : EXAMPLE_BYTES;
    /* Not within a character. */
    while (len < text.len && len > 0 && (text.data[len] & 0xc0) == 0x80)
        len--;
    return fz_arena_text(arena, fz_span_make(text.data, len));
}

static void
see(void *user, struct fz_span before, struct fz_span after)
{
    struct preview *preview = user;
    if (preview->n_examples == EXAMPLES_MAX)
        return;
    struct example example = {fz_arena_strdup(preview->arena, preview->report),
                              shorten(preview->arena, before), shorten(preview->arena, after)};
    /* Out of memory: one example less. */
    if (example.report && example.before && example.after)
        preview->examples[preview->n_examples++] = example;
}

/* The texts of a stored report, which has the marks of the rules that it was processed with. */
static enum fz_code
look_at(struct api_call *call, const char *id, struct scrub *scrub, struct fz_error *err)
{
    static const struct {
        const char *name;
        enum scrub_top top;
    } members[] = {{"crash", SCRUB_TOP_ANY}, {"process", SCRUB_TOP_ANY},
                   {"user", SCRUB_TOP_USER}, {"tags", SCRUB_TOP_ANY},
                   {"extra", SCRUB_TOP_ANY}, {"breadcrumbs", SCRUB_TOP_ANY},
                   {"notes", SCRUB_TOP_ANY}};
    struct fz_span json = {NULL, 0};
    enum fz_code code =
        store_report_result(call->store, call->project_id, id, scrub->arena, &json, err);
    struct json_walk walk = json_walk_start(json);
    struct json_member member;
    while (code == FZ_OK && json_walk_next(&walk, &member)) {
        for (size_t i = 0; i < FZ_ARRAY_LEN(members); i++) {
            if (!fz_span_is(member.key, members[i].name))
                continue;
            const char *text = fz_arena_text(scrub->arena, member.value);
            if (!text || !scrub_json(scrub, text, members[i].top))
                return fz_arena_fail(scrub->arena, err);
        }
    }
    /* Deleted meanwhile, or not processed yet. */
    return code == FZ_E_NOT_FOUND ? FZ_OK : code;
}

static enum fz_code
answer(struct api_call *call, const struct preview *preview, const struct scrub *sum,
       const size_t n[2], struct fz_error *err)
{
    struct json_write w = api_begin(call, '{');
    json_write_u64(&w, "reports", n[0]);
    json_write_u64(&w, "changed", n[1]);
    json_write_open(&w, "masked", '{');
    for (int kind = 0; kind < SCRUB_KINDS; kind++) {
        if (sum->n[kind])
            json_write_u64(&w, scrub_kind_names[kind], sum->n[kind]);
    }
    json_write_close(&w, '}');
    json_write_open(&w, "examples", '[');
    for (size_t i = 0; i < preview->n_examples; i++) {
        json_write_open(&w, NULL, '{');
        json_write_text(&w, "report", preview->examples[i].report);
        json_write_text(&w, "before", preview->examples[i].before);
        json_write_text(&w, "after", preview->examples[i].after);
        json_write_close(&w, '}');
    }
    json_write_close(&w, ']');
    return api_answer(call, 200, &w, '}', err);
}

static enum fz_code
run(struct api_call *call, const struct scrub_rules *rules, size_t limit, struct fz_error *err)
{
    struct store_page page = {.limit = limit};
    const struct store_query query = {.n = 0};
    const struct store_report_search search = {&query, STORE_NEWEST_FIRST};
    struct store_report *reports = NULL;
    struct preview preview = {.arena = call->arena};
    struct scrub sum = scrub_make(rules, call->arena);
    size_t n[2] = {0, 0};
    enum fz_code code = store_report_search(call->store, call->project_id, &search, &page,
                                            call->arena, &reports, err);
    for (size_t i = 0; code == FZ_OK && i < page.n; i++) {
        /* The texts of one report at a time. */
        FZ_CLEANUP(fz_arena_deinit)
        struct fz_arena arena = fz_arena_make(call->api->config.limits->report_memory);
        struct scrub scrub = scrub_make(rules, &arena);
        scrub.seen = see;
        scrub.user = &preview;
        preview.report = reports[i].id;
        code = look_at(call, reports[i].id, &scrub, err);
        for (int kind = 0; kind < SCRUB_KINDS; kind++)
            sum.n[kind] += scrub.n[kind];
        n[0]++;
        n[1] += scrub_count(&scrub) > 0;
    }
    return code == FZ_OK ? answer(call, &preview, &sum, n, err) : code;
}

enum fz_code
api_scrub_preview(struct api_call *call, struct fz_error *err)
{
    const struct limits *limits = call->api->config.limits;
    struct json_scan_limits scan = {.depth = limits->json_depth,
                                    .output_bytes = 2 * limits->json_bytes};
    struct scrub_rules rules;
    const char *text = NULL;
    json_auto_t *root = NULL;
    enum fz_code code = json_scan_load(http_body(call->request), &scan, NULL, &root, err);
    const json_t *limit = json_object_get(root, "limit"), *list = json_object_get(root, lines.key);
    json_int_t n = limit ? json_integer_value(limit) : REPORTS_DEFAULT;
    if (code == FZ_OK && (n < 1 || n > REPORTS_MAX)) {
        call->detail = "{\"path\":\"limit\"}";
        return fz_fail(err, FZ_E_MALFORMED, "limit: no number from 1 to %d", (int)REPORTS_MAX);
    }
    if (code == FZ_OK)
        code = read_rules(call, list, &text, err);
    if (code == FZ_OK)
        code = scrub_rules_parse(text, call->arena, &rules, err);
    return code == FZ_OK ? run(call, &rules, (size_t)n, err) : code;
}
