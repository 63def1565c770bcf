#include "server/alert/build.h"

#include <string.h>

#include "base/attr.h"
#include "base/text.h"

static const char *const kind_names[ALERT_N_KINDS] = {
    [ALERT_ISSUE_CREATED] = "issue.created",
    [ALERT_ISSUE_REGRESSED] = "issue.regressed",
    [ALERT_ISSUE_URGENT] = "issue.urgent",
    [ALERT_ISSUE_UNMUTED] = "issue.unmuted",
    [ALERT_SYMBOLS_MISSING] = "symbols.missing",
    [ALERT_RELEASE_UNHEALTHY] = "release.unhealthy",
    [ALERT_INGEST_LIMITED] = "ingest.limited",
    [ALERT_CHANNEL_FAILING] = "channel.failing",
    [ALERT_DIGEST] = "digest",
    [ALERT_TEST] = "test",
};

const char *
alert_kind_name(enum alert_kind kind)
{
    return kind_names[kind];
}

bool
alert_kind_parse(struct fz_span name, enum alert_kind *ret)
{
    for (size_t i = 0; i < ALERT_N_KINDS; i++) {
        if (fz_span_is(name, kind_names[i])) {
            *ret = (enum alert_kind)i;
            return true;
        }
    }
    return false;
}

static const char *
or_unknown(const char *text)
{
    return text && *text ? text : "?";
}

/* "symbol_bytes_per_day" limits uploads; the other limits are of reports. */
static bool
is_of_symbols(const char *limit)
{
    return limit && fz_text_has_prefix(limit, "symbol_");
}

const char *
alert_kind_headline(struct alert_build *b, const struct alert_item *item)
{
    const char *title = or_unknown(item->title), *version = or_unknown(item->version);
    unsigned long long number = item->number;
    switch (item->kind) {
    case ALERT_ISSUE_CREATED:
        return alert_build_text(b, ALERT_HEADLINE_MAX, "New issue #%llu: %.600s", number, title);
    case ALERT_ISSUE_REGRESSED:
        return alert_build_text(b, ALERT_HEADLINE_MAX, "Issue #%llu is back in %.100s: %.600s",
                                number, version, title);
    case ALERT_ISSUE_URGENT:
        return alert_build_text(b, ALERT_HEADLINE_MAX, "Issue #%llu is urgent: %.600s", number,
                                title);
    case ALERT_ISSUE_UNMUTED:
        return alert_build_text(b, ALERT_HEADLINE_MAX,
                                "Issue #%llu is not ignored any more: %.600s", number, title);
    case ALERT_SYMBOLS_MISSING:
        return item->version && *version
                   ? alert_build_text(b, ALERT_HEADLINE_MAX, "dSYMs of version %.300s are missing",
                                      version)
                   : "dSYMs are missing";
    case ALERT_RELEASE_UNHEALTHY:
        return alert_build_text(b, ALERT_HEADLINE_MAX, "Version %.300s is not healthy", version);
    case ALERT_INGEST_LIMITED:
        return alert_build_text(b, ALERT_HEADLINE_MAX, "%s are refused: limit %.300s",
                                is_of_symbols(title) ? "Symbol files" : "Reports", title);
    case ALERT_CHANNEL_FAILING:
        return alert_build_text(b, ALERT_HEADLINE_MAX, "Alerts to the channel '%.300s' fail",
                                title);
    case ALERT_TEST:
        return "Test: this channel receives the alerts of framezero";
    case ALERT_DIGEST:
    case ALERT_N_KINDS:
    default:
        return alert_build_text(b, ALERT_HEADLINE_MAX, "%llu alerts", number);
    }
}

/* "3 reports of 2 users" */
static const char *
reports_of_users(struct alert_build *b, uint64_t n_reports, uint64_t n_users)
{
    const char *reports = alert_build_count(b, n_reports, "report", "reports");
    return n_users ? alert_build_text(b, ALERT_VALUE_MAX, "%s of %s", reports,
                                      alert_build_count(b, n_users, "user", "users"))
                   : reports;
}

static void
describe_created(struct alert_build *b)
{
    const struct alert_event *event = b->event;
    b->doc->level = ALERT_WARNING;
    b->doc->summary = alert_build_text(
        b, ALERT_SUMMARY_MAX, "First seen at %s%s%.200s; %s so far.%s",
        alert_build_time(b,
                         event->issue.first_seen_ms ? event->issue.first_seen_ms : event->time_ms),
        event->version ? " in version " : "", event->version ? event->version : "",
        reports_of_users(b, event->issue.n_reports, event->issue.n_users),
        event->n_symbols ? " Names are missing, so the issue may turn out to be a known one." : "");
    b->doc->advice = "Assign it, or ignore it if it is known.";
}

static void
describe_regressed(struct alert_build *b)
{
    const struct alert_event *event = b->event;
    b->doc->level = ALERT_BAD;
    b->doc->summary =
        alert_build_text(b, ALERT_SUMMARY_MAX,
                         "It was resolved in %.200s, and version %.200s has it again since %s; %s "
                         "in all.",
                         or_unknown(event->issue.resolved_in), or_unknown(event->version),
                         alert_build_time(b, event->time_ms),
                         reports_of_users(b, event->issue.n_reports, event->issue.n_users));
    b->doc->advice =
        "Check whether the fix is part of this version. If a later one has it, resolve "
        "the issue in that version.";
}

static void
describe_urgent(struct alert_build *b)
{
    const struct alert_event *event = b->event;
    const struct alert_burst *burst = &event->burst;
    const char *minutes = alert_build_count(
        b, (uint64_t)(burst->window_s > 0 ? burst->window_s / 60 : 0), "minute", "minutes");
    const char *what = reports_of_users(b, burst->n_reports, burst->n_users);
    b->doc->level = ALERT_BAD;
    b->doc->summary =
        burst->n_sessions
            ? alert_build_text(b, ALERT_SUMMARY_MAX,
                               "In the %s before %s: %s; %llu of the app's %llu sessions (%s) "
                               "ended with a crash.",
                               minutes, alert_build_time(b, event->time_ms), what,
                               (unsigned long long)burst->n_crashed,
                               (unsigned long long)burst->n_sessions,
                               alert_build_percent(b, burst->n_crashed, burst->n_sessions))
            : alert_build_text(b, ALERT_SUMMARY_MAX, "In the %s before %s: %s.", minutes,
                               alert_build_time(b, event->time_ms), what);
    b->doc->advice =
        "If a version is being rolled out, pause it; if the function can be switched off, "
        "do so.";
}

/* What storage says, in words. */
static const char *
ignored_until(const char *reason)
{
    static const struct {
        const char *reason, *words;
    } rows[] = {{"reports", "it had enough reports"},
                {"users", "it had enough users"},
                {"time", "a set time"},
                {"version", "a newer version had it"}};
    for (size_t i = 0; reason && i < FZ_ARRAY_LEN(rows); i++) {
        if (strcmp(reason, rows[i].reason) == 0)
            return rows[i].words;
    }
    return or_unknown(reason);
}

static void
describe_unmuted(struct alert_build *b)
{
    const struct alert_issue *issue = &b->event->issue;
    b->doc->level = ALERT_WARNING;
    b->doc->summary = alert_build_text(
        b, ALERT_SUMMARY_MAX, "It was ignored until %.300s, and is open again since %s; %s in all.",
        ignored_until(issue->reason), alert_build_time(b, b->event->time_ms),
        reports_of_users(b, issue->n_reports, issue->n_users));
    b->doc->advice = "Assign it, or ignore it again.";
}

static void
describe_missing(struct alert_build *b)
{
    const struct alert_event *event = b->event;
    b->doc->level = ALERT_WARNING;
    b->doc->summary =
        alert_build_text(b, ALERT_SUMMARY_MAX, "Since %s, %s for names: %s.",
                         alert_build_time(b, event->since_ms ? event->since_ms : event->time_ms),
                         alert_build_count(b, event->n_waiting, "report waits", "reports wait"),
                         alert_build_count(b, event->n_symbols + event->n_unlisted,
                                           "dSYM is missing", "dSYMs are missing"));
}

static void
describe_unhealthy(struct alert_build *b)
{
    const struct alert_release *release = &b->event->release;
    uint64_t free =
        release->n_sessions > release->n_crashed ? release->n_sessions - release->n_crashed : 0;
    b->doc->level = ALERT_BAD;
    b->doc->summary = alert_build_text(
        b, ALERT_SUMMARY_MAX,
        "Since %s, %s of its sessions ended without a crash, which is less than %s: %llu of %llu "
        "sessions crashed.",
        alert_build_time(b, release->since_ms), alert_build_percent(b, free, release->n_sessions),
        alert_build_percent(b, release->threshold_ppm, 1000000),
        (unsigned long long)release->n_crashed, (unsigned long long)release->n_sessions);
    b->doc->advice =
        "Look at the new and regressed issues of this version; if it is being rolled out, "
        "pause it.";
}

static void
describe_limited(struct alert_build *b)
{
    const struct alert_limit *limit = &b->event->limit;
    const char *what = is_of_symbols(limit->name) ? "symbol files" : "reports";
    const char *until = limit->until_ms ? alert_build_text(b, ALERT_VALUE_MAX, " until %s",
                                                           alert_build_time(b, limit->until_ms))
                                        : "";
    b->doc->level = ALERT_WARNING;
    b->doc->summary = alert_build_text(
        b, ALERT_SUMMARY_MAX,
        "The limit %.200s = %llu is used up since %s. Further %s of this project are refused%s.",
        or_unknown(limit->name), (unsigned long long)limit->value,
        alert_build_time(b, limit->since_ms), what, until);
    b->doc->advice = is_of_symbols(limit->name)
                         ? "Find out which build uploads so much; the operator can raise the limit "
                           "with --limit."
                         : "Find out which app or version sends so much; the operator can raise "
                           "the limit with --limit.";
}

static void
describe_failing(struct alert_build *b)
{
    const struct alert_trouble *trouble = &b->event->trouble;
    b->doc->level = ALERT_BAD;
    b->doc->summary = alert_build_text(
        b, ALERT_SUMMARY_MAX, "%s since %s.%s The last error: %.300s",
        alert_build_count(b, trouble->n_attempts, "attempt failed", "attempts failed"),
        alert_build_time(b, trouble->since_ms),
        trouble->is_disabled ? " The channel is disabled now." : "", or_unknown(trouble->error));
    b->doc->advice = "Correct the channel, test it, and send again what it missed.";
}

/* ": 980 new issues, 1 unhealthy version", or "" where nothing was counted. */
static const char *
counts_of_kinds(struct alert_build *b)
{
    static const struct {
        enum alert_kind kind; /* the urgent ones first */
        const char *one, *many;
    } rows[] = {
        {ALERT_ISSUE_URGENT, "urgent issue", "urgent issues"},
        {ALERT_RELEASE_UNHEALTHY, "unhealthy version", "unhealthy versions"},
        {ALERT_ISSUE_REGRESSED, "issue that is back", "issues that are back"},
        {ALERT_ISSUE_CREATED, "new issue", "new issues"},
        {ALERT_ISSUE_UNMUTED, "issue not ignored any more", "issues not ignored any more"},
        {ALERT_SYMBOLS_MISSING, "version without dSYMs", "versions without dSYMs"},
        {ALERT_INGEST_LIMITED, "limit used up", "limits used up"},
    };
    const char *text = "";
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        uint64_t n = b->event->n_by_kind[rows[i].kind];
        if (n > 0)
            text = alert_build_text(b, ALERT_SUMMARY_MAX, "%s%s %s", text, *text ? "," : ":",
                                    alert_build_count(b, n, rows[i].one, rows[i].many));
    }
    return text;
}

static void
describe_digest(struct alert_build *b)
{
    const struct alert_event *event = b->event;
    b->doc->level =
        event->n_by_kind[ALERT_ISSUE_URGENT] || event->n_by_kind[ALERT_RELEASE_UNHEALTHY]
            ? ALERT_BAD
            : ALERT_INFO;
    b->doc->summary =
        alert_build_text(b, ALERT_SUMMARY_MAX,
                         "From %s to %s%s. They were collected because there were more than this "
                         "channel takes in an hour (per_hour).",
                         alert_build_time(b, event->since_ms), alert_build_time(b, event->time_ms),
                         counts_of_kinds(b));
    for (size_t i = 0; i < event->n_items && i < ALERT_ITEMS_MAX; i++)
        alert_build_line(b, alert_kind_headline(b, &event->items[i]));
    b->doc->n_more = event->n_events > b->doc->n_lines ? event->n_events - b->doc->n_lines : 0;
    b->doc->advice =
        "Many new issues at once often have one cause: look at the newest version first, "
        "and merge what belongs together. For fewer messages, give the channel a query "
        "or fewer types of events.";
}

static void
describe_test(struct alert_build *b)
{
    const struct alert_event *event = b->event;
    b->doc->level = ALERT_GOOD;
    b->doc->summary = alert_build_text(b, ALERT_SUMMARY_MAX, "%.200s asked for it at %s.",
                                       event->by && *event->by ? event->by : "Someone",
                                       alert_build_time(b, event->time_ms));
}

void
alert_kind_describe(struct alert_build *b)
{
    static void (*const describe[ALERT_N_KINDS])(struct alert_build *) = {
        [ALERT_ISSUE_CREATED] = describe_created,   [ALERT_ISSUE_REGRESSED] = describe_regressed,
        [ALERT_ISSUE_URGENT] = describe_urgent,     [ALERT_ISSUE_UNMUTED] = describe_unmuted,
        [ALERT_SYMBOLS_MISSING] = describe_missing, [ALERT_RELEASE_UNHEALTHY] = describe_unhealthy,
        [ALERT_INGEST_LIMITED] = describe_limited,  [ALERT_CHANNEL_FAILING] = describe_failing,
        [ALERT_DIGEST] = describe_digest,           [ALERT_TEST] = describe_test,
    };
    const struct alert_event *event = b->event;
    struct alert_item self = {
        .kind = event->kind,
        .number = event->issue.number,
        .title = event->issue.title,
        .version = event->version,
    };
    if (event->kind == ALERT_INGEST_LIMITED)
        self.title = event->limit.name;
    if (event->kind == ALERT_CHANNEL_FAILING)
        self.title = event->trouble.channel;
    if (event->kind == ALERT_DIGEST)
        self.number = event->n_events;
    b->doc->headline = alert_build_text(b, ALERT_HEADLINE_MAX, "[%.60s] %.900s",
                                        or_unknown(event->project), alert_kind_headline(b, &self));
    describe[event->kind](b);
}
