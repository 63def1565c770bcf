/* framezero project: create, list and set up projects, on the database directly. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/text.h"
#include "base/time.h"
#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/config/term.h"
#include "server/scrub/scrub.h"
#include "storage/store.h"
#include "storage/store_retention.h"
#include "storage/store_usage.h"

enum { ARENA_BYTES = 64 * 1024 * 1024 };

static enum fz_code
create(struct store *store, const char *name, struct fz_error *err)
{
    int64_t id;
    enum fz_code code = store_project_create(store, name, &id, err);
    if (code == FZ_OK)
        printf("%" PRId64 "\t%s\n", id, name);
    return code;
}

static enum fz_code
list(struct store *store, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_BYTES);
    struct store_project *projects;
    size_t n = 0;
    enum fz_code code = store_project_list(store, &arena, &projects, &n, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        /* Columns are separated by tabs, as cut and awk expect them. */
        char created[FZ_TIME_TEXT];
        fz_time_format(projects[i].created_ms, created);
        printf("%" PRId64 "\t%s\t%s\n", projects[i].id, projects[i].name, created);
    }
    return code;
}

static int
run(const struct command_call *call)
{
    FZ_CLEANUP(store_closep) struct store *store = NULL;
    struct config config;
    struct fz_error err;
    if (!command_config(call, false, &config))
        return 2;
    enum fz_code code = store_open(config.database, &store, &err);
    if (code == FZ_OK)
        code = call->n_operands ? create(store, call->operands[0], &err) : list(store, &err);
    return code != FZ_OK ? term_failed(call->command->name, &err) : 0;
}

/* ---- set ---- */

struct settings {
    const char *values, *memory, *scrub;
    uint64_t memory_days; /* 0 = not given */
    struct option_list allow, deny, scrub_rules;
    uint64_t report_days, report_max, body_days, symbol_days,
        bytes_max; /* NOT_GIVEN, 0 = no limit */
    uint64_t quota_reports, quota_report_bytes,
        quota_symbol_bytes; /* NOT_GIVEN, 0 = the server's */
    const char *samples;
};
#define NOT_GIVEN UINT64_MAX
#define QUOTA_MAX ((UINT64_C(1) << STORE_QUOTA_BITS) - 1)
static const struct settings no_settings = {.report_days = NOT_GIVEN,
                                            .report_max = NOT_GIVEN,
                                            .body_days = NOT_GIVEN,
                                            .symbol_days = NOT_GIVEN,
                                            .bytes_max = NOT_GIVEN,
                                            .quota_reports = NOT_GIVEN,
                                            .quota_report_bytes = NOT_GIVEN,
                                            .quota_symbol_bytes = NOT_GIVEN};

/* A number with an optional K, M, G or T, which count by 1,024. */
static enum fz_code
set_bytes(const struct option_spec *option, void *field, const char *text, const char *where,
          struct fz_error *err)
{
    static const char units[] = "KMGT";
    size_t len = strlen(text);
    const char *unit = len ? strchr(units, text[len - 1]) : NULL;
    unsigned shift = unit && *unit ? 10 * (unsigned)(unit - units + 1) : 0;
    uint64_t number;
    if (!fz_text_u64(fz_span_make(text, len - (shift > 0)), &number) ||
        number > option->max >> shift)
        return fz_fail(err, FZ_E_MALFORMED,
                       "%s: '%.40s' is not a number of bytes, such as 500M or 20G", where, text);
    *(uint64_t *)field = number << shift;
    return FZ_OK;
}

static enum fz_code
set_word(const struct option_spec *option, void *field, const char *text, const char *where,
         struct fz_error *err)
{
    /* The words are those of the completions: "on off". */
    const char *space = strchr(option->complete, ' ');
    size_t len = (size_t)(space - option->complete);
    if (strcmp(text, space + 1) != 0 &&
        (strlen(text) != len || strncmp(text, option->complete, len) != 0))
        return fz_fail(err, FZ_E_MALFORMED, "%s: '%.40s' is neither '%.*s' nor '%s'", where, text,
                       (int)len, option->complete, space + 1);
    *(const char **)field = text;
    return FZ_OK;
}

/* The entries as storage keeps them; one empty entry makes the list empty. */
static enum fz_code
join(const struct option_list *list, struct fz_buffer *out, const char **ret, struct fz_error *err)
{
    if (list->n == 0)
        return FZ_OK;
    for (size_t i = 0; i < list->n; i++) {
        if (strchr(list->items[i], '\n'))
            return fz_fail(err, FZ_E_MALFORMED, "an entry is one line");
        fz_buffer_text(out, i ? "\n" : "");
        fz_buffer_text(out, list->items[i]);
    }
    enum fz_code code = fz_buffer_done(out, err);
    if (code == FZ_OK)
        *ret = fz_buffer_cstr(out);
    return code;
}

static void
print_lines(const char *key, const char *lines)
{
    while (lines && *lines) {
        size_t len = strcspn(lines, "\n");
        printf("%s\t%.*s\n", key, (int)len, lines);
        lines += len + (lines[len] == '\n');
    }
}

static void
print_privacy(const struct store_privacy *privacy)
{
    printf("values\t%s\nmemory\t%s\nmemory_days\t%" PRId64 "\n", privacy->values ? "on" : "off",
           privacy->keep_memory ? "keep" : "drop", privacy->memory_days);
    print_lines("redact_allow", privacy->redact_allow);
    print_lines("redact_deny", privacy->redact_deny);
}

static void
take(uint64_t given, int64_t *number)
{
    *number = given == NOT_GIVEN ? *number : (int64_t)given;
}

static enum fz_code
set_retention(struct store *store, int64_t id, const struct settings *settings,
              struct fz_error *err)
{
    struct store_retention now, before;
    enum fz_code code = store_retention_get(store, id, &before, NULL, err);
    if (code != FZ_OK)
        return code;
    now = before;
    take(settings->report_days, &now.report_days);
    take(settings->report_max, &now.report_max);
    take(settings->body_days, &now.body_days);
    take(settings->symbol_days, &now.symbol_days);
    take(settings->bytes_max, &now.bytes_max);
    if (settings->samples)
        now.keeps_samples = strcmp(settings->samples, "on") == 0;
    if (!store_retention_is_same(&now, &before))
        code = store_retention_set(store, id, &now, err);
    if (code == FZ_OK)
        printf("keep_reports_days\t%" PRId64 "\nkeep_reports\t%" PRId64
               "\nkeep_bodies_days\t%" PRId64 "\nkeep_symbols_days\t%" PRId64
               "\nkeep_bytes\t%" PRId64 "\nkeep_samples\t%s\n",
               now.report_days, now.report_max, now.body_days, now.symbol_days, now.bytes_max,
               now.keeps_samples ? "on" : "off");
    return code;
}

static enum fz_code
set_quota(struct store *store, int64_t id, const struct settings *settings, struct fz_error *err)
{
    struct store_quota quota;
    enum fz_code code = store_quota_get(store, id, &quota, err);
    if (code != FZ_OK)
        return code;
    const struct store_quota before = quota;
    if (settings->quota_reports != NOT_GIVEN)
        quota.reports = settings->quota_reports;
    if (settings->quota_report_bytes != NOT_GIVEN)
        quota.report_bytes = settings->quota_report_bytes;
    if (settings->quota_symbol_bytes != NOT_GIVEN)
        quota.symbol_bytes = settings->quota_symbol_bytes;
    if (quota.reports != before.reports || quota.report_bytes != before.report_bytes ||
        quota.symbol_bytes != before.symbol_bytes)
        code = store_quota_set(store, &quota, err);
    if (code == FZ_OK)
        printf("reports_per_day\t%" PRIu64 "\nreport_bytes_per_day\t%" PRIu64
               "\nsymbol_bytes_per_day\t%" PRIu64 "\n",
               quota.reports, quota.report_bytes, quota.symbol_bytes);
    return code;
}

static enum fz_code
set_scrub(struct store *store, struct store_project *project, const struct settings *settings,
          struct fz_arena *arena, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    struct scrub_rules rules;
    struct store_scrub *scrub = &project->scrub;
    if (settings->scrub)
        scrub->is_on = strcmp(settings->scrub, "on") == 0;
    enum fz_code code = join(&settings->scrub_rules, &text, &scrub->rules, err);
    if (code == FZ_OK && scrub->rules && strcmp(scrub->rules, "none") == 0)
        scrub->rules = NULL;
    if (code == FZ_OK)
        code = scrub_rules_parse(scrub->rules, arena, &rules, err);
    if (code == FZ_OK)
        code = store_project_set_scrub(store, project->id, scrub, err);
    if (code != FZ_OK)
        return code;
    printf("scrub\t%s\n", scrub->is_on ? "on" : "off");
    print_lines("scrub_rules", scrub->rules);
    return FZ_OK;
}

static enum fz_code
set(struct store *store, const char *name, const struct settings *settings, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_BYTES);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer allow = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer deny = fz_buffer_make(0);
    struct store_project project;
    enum fz_code code = store_project_find(store, name, &arena, &project, err);
    if (code != FZ_OK)
        return code;
    /* What is not given stays as it is. */
    struct store_privacy *privacy = &project.privacy;
    if (settings->values)
        privacy->values = strcmp(settings->values, "on") == 0;
    if (settings->memory)
        privacy->keep_memory = strcmp(settings->memory, "keep") == 0;
    if (settings->memory_days)
        privacy->memory_days = (int64_t)settings->memory_days;
    code = join(&settings->allow, &allow, &privacy->redact_allow, err);
    if (code == FZ_OK)
        code = join(&settings->deny, &deny, &privacy->redact_deny, err);
    if (code == FZ_OK)
        code = store_project_set_privacy(store, project.id, privacy, err);
    if (code == FZ_OK)
        print_privacy(privacy);
    if (code == FZ_OK)
        code = set_scrub(store, &project, settings, &arena, err);
    if (code == FZ_OK)
        code = set_retention(store, project.id, settings, err);
    return code == FZ_OK ? set_quota(store, project.id, settings, err) : code;
}

static int
run_set(const struct command_call *call)
{
    FZ_CLEANUP(store_closep) struct store *store = NULL;
    struct config config;
    struct fz_error err;
    if (!command_config(call, false, &config))
        return 2;
    enum fz_code code = store_open(config.database, &store, &err);
    if (code == FZ_OK)
        code = set(store, call->operands[0], call->values, &err);
    return code != FZ_OK ? term_failed(call->command->name, &err) : 0;
}

static const struct option_spec set_options[] = {
    {.name = "values",
     .argument = "WHEN",
     .complete = "on off",
     .set = set_word,
     .offset = offsetof(struct settings, values),
     .help = "Show the variables of reports that are processed from now on: on, off.",
     .see = "privacy.md"},
    {.name = "memory",
     .argument = "WHAT",
     .complete = "keep drop",
     .set = set_word,
     .offset = offsetof(struct settings, memory),
     .help = "Captured memory after a report was processed: keep, drop."},
    {.name = "memory-days",
     .argument = "N",
     .set = option_set_count,
     .offset = offsetof(struct settings, memory_days),
     .min = 1,
     .max = STORE_MEMORY_DAYS_MAX,
     .fallback = "14",
     .help = "For how long it is kept."},
    {.name = "redact-allow",
     .argument = "ENTRY",
     .set = option_add_text,
     .offset = offsetof(struct settings, allow),
     .help = "Variables that are shown although the defaults redact them: a name, type:T, "
             "function:F or image:I, with * for any text. Replaces the list; '' empties it."},
    {.name = "redact-deny",
     .argument = "ENTRY",
     .set = option_add_text,
     .offset = offsetof(struct settings, deny),
     .help = "Variables that are redacted besides the defaults, in the same form."},
    {.name = "scrub",
     .argument = "WHEN",
     .complete = "on off",
     .set = set_word,
     .offset = offsetof(struct settings, scrub),
     .fallback = "on",
     .help = "Mask personal data and secrets in the texts of reports: on, off."},
    {.name = "scrub-rule",
     .argument = "RULE",
     .set = option_add_text,
     .offset = offsetof(struct settings, scrub_rules),
     .help = "What is masked besides or in spite of the defaults: off:KIND, on:KIND, text:PATTERN, "
             "key:PATTERN or keep:PATTERN. Replaces the list; 'none' empties it."},
    {.name = "keep-reports-days",
     .argument = "N",
     .set = option_set_count,
     .offset = offsetof(struct settings, report_days),
     .max = STORE_RETENTION_DAYS_MAX,
     .help = "For how long reports are kept; 0: for ever.",
     .fallback = "90 for a new project",
     .see = "privacy.md"},
    {.name = "keep-reports",
     .argument = "N",
     .set = option_set_count,
     .offset = offsetof(struct settings, report_max),
     .max = 1000000000000,
     .fallback = "0",
     .help = "How many reports are kept; those of frequent issues are deleted first. 0: all."},
    {.name = "keep-samples",
     .argument = "WHEN",
     .complete = "on off",
     .set = set_word,
     .offset = offsetof(struct settings, samples),
     .fallback = "on",
     .help =
         "Whether each issue keeps its first, newest and best named report for longer: on, off."},
    {.name = "keep-bodies-days",
     .argument = "N",
     .set = option_set_count,
     .offset = offsetof(struct settings, body_days),
     .max = STORE_RETENTION_DAYS_MAX,
     .fallback = "0",
     .help = "For how long reports are kept as they were sent; 0: as long as the report."},
    {.name = "keep-symbols-days",
     .argument = "N",
     .set = option_set_count,
     .offset = offsetof(struct settings, symbol_days),
     .max = STORE_RETENTION_DAYS_MAX,
     .fallback = "365 for a new project",
     .help = "For how long symbol files are kept that no stored report needs; 0: for ever."},
    {.name = "keep-bytes",
     .argument = "SIZE",
     .set = set_bytes,
     .offset = offsetof(struct settings, bytes_max),
     .max = UINT64_MAX / 8,
     .fallback = "0",
     .help = "How much a project may store, as 20G; reports of frequent issues make room. 0: no "
             "limit."},
    {.name = "reports-per-day",
     .argument = "N",
     .set = option_set_count,
     .offset = offsetof(struct settings, quota_reports),
     .max = QUOTA_MAX,
     .fallback = "0",
     .help = "How many reports it may send a day; 0, as in the next two: the server's limit."},
    {.name = "report-bytes-per-day",
     .argument = "SIZE",
     .set = set_bytes,
     .offset = offsetof(struct settings, quota_report_bytes),
     .max = QUOTA_MAX,
     .fallback = "0",
     .help = "How many bytes of reports it may send a day, inflated, as 2G."},
    {.name = "symbol-bytes-per-day",
     .argument = "SIZE",
     .set = set_bytes,
     .offset = offsetof(struct settings, quota_symbol_bytes),
     .max = QUOTA_MAX,
     .fallback = "0",
     .help = "How many bytes of symbol files it may send a day."},
    {.name = NULL},
};
static const struct command_spec set_spec = {
    .name = "project set",
    .summary = "set up what a project shows and keeps",
    .operands = "NAME",
    .flags = COMMAND_NEEDS_OPERANDS,
    .description = "Set what a project shows of variables, masks in texts, for how long it keeps "
                   "what was sent, and how much it may send, and print all of these settings. What "
                   "is not given stays as it "
                   "is. 'framezero prune --dry-run' prints what the limits delete.",
    .options = set_options,
    .settings = config_settings,
    .role = CONFIG_STORE,
    .values_size = sizeof(struct settings),
    .defaults = &no_settings,
    .run = run_set,
};

static const struct command_spec create_spec = {
    .name = "project create",
    .summary = "create a project",
    .operands = "NAME",
    .flags = COMMAND_NEEDS_OPERANDS,
    .description = "Create a project and print its id and name.",
    .settings = config_settings,
    .role = CONFIG_STORE,
    .run = run,
};
static const struct command_spec list_spec = {
    .name = "project list",
    .summary = "list the projects",
    .operands = "",
    .description = "Print one line per project: id, name, time of creation.",
    .settings = config_settings,
    .role = CONFIG_STORE,
    .run = run,
};
static const struct command_spec *const actions[] = {&create_spec, &list_spec, &set_spec, NULL};
const struct command_spec cmd_project = {
    .name = "project",
    .summary = "create, list and set up projects",
    .operands = "",
    .description = "Create, list and set up projects, in the database directly.",
    .actions = actions,
};
