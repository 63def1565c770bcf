/* All texts of a report that are of its user, not of the program: what a stack consists of stays. */
#include <string.h>

#include "base/json/walk.h"
#include "base/json/write.h"
#include "server/report/report.h"
#include "server/scrub/scrub.h"

static void
text(struct scrub *scrub, const char **ret)
{
    *ret = scrub_text(scrub, *ret);
}

static void
path(struct scrub *scrub, const char **ret)
{
    *ret = scrub_path(scrub, *ret);
}

static void
scrub_crash(struct scrub *scrub, struct report_crash *crash)
{
    text(scrub, &crash->reason);
    text(scrub, &crash->subtype);
    text(scrub, &crash->termination);
    text(scrub, &crash->diagnosis);
    for (size_t i = 0; i < crash->n_messages; i++)
        text(scrub, &crash->messages[i]);
}

static void
scrub_threads(struct scrub *scrub, struct report *report)
{
    for (size_t i = 0; i < report->n_threads; i++) {
        text(scrub, &report->threads[i].name);
        text(scrub, &report->threads[i].queue);
        report->threads[i].notable_json =
            scrub_json(scrub, report->threads[i].notable_json, SCRUB_TOP_ANY);
    }
}

/* Without an id, what comes next stands for the user. */
static bool
has_id(const char *user)
{
    struct json_walk walk = json_walk_start(fz_span_cstr(user));
    struct json_member member;
    while (json_walk_next(&walk, &member)) {
        if (fz_span_is(member.key, "id") && !fz_span_is(member.value, "null") &&
            !fz_span_is(member.value, "\"\""))
            return true;
    }
    return false;
}

static enum fz_code
write_counts(const struct scrub *scrub, struct fz_arena *arena, struct report *report,
             struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct json_write w = json_write_start(&out);
    if (scrub_count(scrub) == 0)
        return FZ_OK;
    json_write_open(&w, NULL, '{');
    for (int kind = 0; kind < SCRUB_KINDS; kind++) {
        if (scrub->n[kind])
            json_write_u64(&w, scrub_kind_names[kind], scrub->n[kind]);
    }
    json_write_close(&w, '}');
    enum fz_code code = fz_buffer_done(&out, err);
    if (code != FZ_OK)
        return code;
    report->scrubbed_json = fz_arena_text(arena, fz_buffer_span(&out));
    return report->scrubbed_json ? FZ_OK : fz_arena_fail(arena, err);
}

enum fz_code
scrub_report(struct report *report, const struct scrub_rules *rules, struct fz_arena *arena,
             struct fz_error *err)
{
    struct scrub scrub = scrub_make(rules, arena);
    scrub_crash(&scrub, &report->crash);
    scrub_threads(&scrub, report);
    path(&scrub, &report->process.path);
    for (size_t i = 0; i < report->n_images; i++)
        path(&scrub, &report->images[i].path);
    for (size_t i = 0; i < report->n_attachments; i++)
        path(&scrub, &report->attachments[i].name);
    for (size_t i = 0; i < report->n_notes; i++)
        text(&scrub, &report->notes[i]);
    report->user_json =
        scrub_json(&scrub, report->user_json,
                   has_id(report->user_json) ? SCRUB_TOP_USER : SCRUB_TOP_PSEUDONYM);
    report->tags_json = scrub_json(&scrub, report->tags_json, SCRUB_TOP_ANY);
    report->breadcrumbs_json = scrub_json(&scrub, report->breadcrumbs_json, SCRUB_TOP_ANY);
    report->extra_json = scrub_json(&scrub, report->extra_json, SCRUB_TOP_ANY);
    return scrub.failed ? fz_arena_fail(arena, err) : write_counts(&scrub, arena, report, err);
}
