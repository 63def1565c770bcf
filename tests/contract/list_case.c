#include "list_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/store_issue_list.h"

enum { REPORTS = LIST_CASE_REPORTS, FACTS = LIST_CASE_FACTS, DAY = 86400000 };

const int64_t list_case_now = 1795402800000;

static uint32_t seed;

void
list_case_seed(uint32_t start)
{
    seed = start;
}

uint32_t
list_case_pick(uint32_t n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

#define PICK(list) list[list_case_pick(FZ_ARRAY_LEN(list))]

static void
add_fact(struct list_case *m, enum store_field field, const char *name, const char *text,
         int64_t number)
{
    assert_true(m->n < FACTS);
    m->facts[m->n++] =
        (struct query_fact){.field = field, .name = name, .text = text, .number = number};
}

/* ---- reports ---- */

static const char *const versions[] = {"4.2", "4.10", "4.2-beta.1", "5.0", "main", NULL};
static const char *const builds[] = {"4201", "7", "45", NULL};
static const char *const os_names[] = {"iOS", "macOS", NULL};
static const char *const os_versions[] = {"18.1", "17.7.2", "26.0", NULL};
static const char *const devices[] = {"iPhone15,2", "iPad8,1", "iPad13,4", "Mac14,7", NULL};
static const char *const archs[] = {"arm64", "x86_64"};
static const char *const environments[] = {"production", "beta", NULL, NULL};
static const char *const exceptions[] = {"NSRangeException", "NSInvalidArgumentException", NULL};
static const char *const signals[] = {"SIGSEGV", "SIGABRT"};
static const char *const reasons[] = {"index 7 beyond bounds", "unrecognized selector sent",
                                      "100% of \"it\" isn't c:\\x", NULL};
static const char *const users[] = {"anna@acme.com", "bert", "Cy Lee", NULL};
static const char *const functions[] = {"-[CartView total:]", "checkout(int)", "main",
                                        "Shop.Store.load()"};
static const char *const files[] = {"/src/Cart.m", "/src/checkout.cpp", "/src/main.c",
                                    "/src/Store.swift"};
static const char *const kinds[] = {"crash", "hang"};
static const char *const tags[] = {"\nchannel=beta\n", "\nchannel=Store\nplan=pro\n",
                                   "\nplan=a=b\n", NULL};

struct values {
    const char *pairs[64];
    size_t n;
};

static const char *
put(struct values *values, const char *column, const char *text)
{
    if (text) {
        values->pairs[values->n++] = column;
        values->pairs[values->n++] = text;
    }
    return text;
}

static void
make_values(struct list_case *m, struct values *v)
{
    m->version = put(v, "app_version", PICK(versions));
    m->user = put(v, "user_id", PICK(users));
    m->os_name = put(v, "os_name", PICK(os_names));
    m->os_version = put(v, "os_version", PICK(os_versions));
    add_fact(m, STORE_FIELD_VERSION, NULL, m->version, 0);
    add_fact(m, STORE_FIELD_USER, NULL, m->user, 0);
    add_fact(m, STORE_FIELD_OS, NULL, m->os_name, 0);
    add_fact(m, STORE_FIELD_OS_VERSION, NULL, m->os_version, 0);
    add_fact(m, STORE_FIELD_BUILD, NULL, put(v, "app_build", PICK(builds)), 0);
    add_fact(m, STORE_FIELD_DEVICE, NULL, put(v, "device_model", PICK(devices)), 0);
    add_fact(m, STORE_FIELD_ARCH, NULL, put(v, "arch", PICK(archs)), 0);
    add_fact(m, STORE_FIELD_ENVIRONMENT, NULL, put(v, "environment", PICK(environments)), 0);
    add_fact(m, STORE_FIELD_EXCEPTION, NULL, put(v, "exception", PICK(exceptions)), 0);
    add_fact(m, STORE_FIELD_SIGNAL, NULL, put(v, "signal", PICK(signals)), 0);
    add_fact(m, STORE_FIELD_REASON, NULL, put(v, "reason", PICK(reasons)), 0);
    add_fact(m, STORE_FIELD_KIND, NULL, put(v, "kind", PICK(kinds)), 0);
    add_fact(m, STORE_FIELD_APP, NULL, put(v, "app_id", "com.acme.shop"), 0);
    add_fact(m, STORE_FIELD_APP, NULL, put(v, "app_name", list_case_pick(2) ? "Shop" : NULL), 0);
    const char *list = put(v, "tags", PICK(tags));
    bool is_pro = list && strstr(list, "plan=pro");
    if (list && strstr(list, "channel="))
        add_fact(m, STORE_FIELD_TAG, "channel", is_pro ? "Store" : "beta", 0);
    if (list && strstr(list, "plan="))
        add_fact(m, STORE_FIELD_TAG, "plan", is_pro ? "pro" : "a=b", 0);
}

static void
make_row_values(struct list_case *m, struct values *v)
{
    static const char *const oses[] = {"22B83", "21H16", NULL};
    static const char *const codes[] = {"KERN_INVALID_ADDRESS", "0x8badf00d", NULL};
    static const char *const releases[] = {"shop@4.2+7", "shop@4.10", NULL};
    static const char *const runs[] = {"run-1", "run-2", NULL};
    add_fact(m, STORE_FIELD_OS_BUILD, NULL, put(v, "os_build", PICK(oses)), 0);
    add_fact(m, STORE_FIELD_RELEASE, NULL, put(v, "release", PICK(releases)), 0);
    add_fact(m, STORE_FIELD_MACH, NULL, put(v, "mach", list_case_pick(2) ? "EXC_BAD_ACCESS" : NULL),
             0);
    add_fact(m, STORE_FIELD_CODE, NULL, put(v, "code", PICK(codes)), 0);
    add_fact(m, STORE_FIELD_RUN, NULL, put(v, "run_id", PICK(runs)), 0);
    add_fact(m, STORE_FIELD_FORMAT, NULL, "framezero", 0);
    add_fact(m, STORE_FIELD_ID, NULL, m->id, 0);
}

/* Two images at most, the second one with either of two UUIDs. */
static void
make_images(struct list_case *m, struct store_report_done *done)
{
    static const struct store_image images[][2] = {
        {{{{0x4c, 0x4c, 1}}, "Shop"}, {{{0x5a, 2}}, "libCart.dylib"}},
        {{{{0x4c, 0x4c, 1}}, "Shop"}, {{{0x5a, 3}}, "libCart.dylib"}},
        {{{{0x77, 4}}, NULL}, {{{0x5a, 3}}, "libCart.dylib"}}};
    static const char *const uuids[][2] = {
        {"4c4c0100000000000000000000000000", "5a020000000000000000000000000000"},
        {"4c4c0100000000000000000000000000", "5a030000000000000000000000000000"},
        {"77040000000000000000000000000000", "5a030000000000000000000000000000"}};
    uint32_t set = list_case_pick(FZ_ARRAY_LEN(images));
    done->images = images[set];
    done->n_images = list_case_pick(3);
    for (size_t i = 0; i < done->n_images; i++) {
        add_fact(m, STORE_FIELD_IMAGE, NULL, images[set][i].name, 0);
        add_fact(m, STORE_FIELD_UUID, NULL, uuids[set][i], 0);
    }
}

static void
finish(struct contract *c, struct list_case *m, const struct store_job *job)
{
    static const enum store_report_status statuses[] = {
        STORE_REPORT_SYMBOLICATED, STORE_REPORT_PARTIAL, STORE_REPORT_UNSYMBOLICATED};
    static const char *const variants[] = {"SIGSEGV at Cart.m:12", "SIGTRAP"};
    struct values v = {.n = 0};
    struct store_grouping grouping = {.title = ""};
    struct store_report_done done = {.status = PICK(statuses), .result = fz_span_cstr("{}")};
    const char *names[2], *paths[2];
    uint32_t top = list_case_pick(FZ_ARRAY_LEN(functions)),
             other = list_case_pick(FZ_ARRAY_LEN(functions));
    char stack[32];
    make_values(m, &v);
    done.timestamp_ms =
        list_case_pick(3) ? m->received_ms - 1 - list_case_pick(5) * (int64_t)DAY : 0;
    add_fact(m, STORE_FIELD_STATUS, NULL, store_report_status_name(done.status), 0);
    add_fact(m, STORE_FIELD_FUNCTION, NULL, put(&v, "top_function", functions[top]), 0);
    add_fact(m, STORE_FIELD_FILE, NULL, put(&v, "top_file", files[top]), 0);
    if (m->is_grouped) {
        names[0] = functions[top];
        names[1] = functions[other];
        paths[0] = files[top];
        paths[1] = files[other];
        snprintf(stack, sizeof(stack), "stack %u %u", top, other);
        uint32_t variant = list_case_pick(2);
        grouping = (struct store_grouping){.stack = fz_span_cstr(stack),
                                           .functions = names,
                                           .n_functions = 2,
                                           .files = paths,
                                           .n_files = 2,
                                           .key = {(uint8_t)(1 + top), (uint8_t)(1 + other % 2)},
                                           .title = functions[top],
                                           .variant = {(uint8_t)(1 + variant)},
                                           .variant_label = variants[variant]};
        add_fact(m, STORE_FIELD_FUNCTION, NULL, functions[other], 0);
        add_fact(m, STORE_FIELD_FILE, NULL, files[other], 0);
        done.grouping = &grouping;
    }
    m->n_row = m->n;
    make_row_values(m, &v);
    add_fact(m, STORE_FIELD_CRASHED, NULL, NULL, done.timestamp_ms);
    m->crashed_ms = done.timestamp_ms;
    make_images(m, &done);
    v.pairs[v.n] = NULL;
    done.values = contract_values(c, v.pairs);
    assert_ok(c, store_job_finish_report(c->store, job, &done, &c->err));
}

static void
make(struct contract *c, struct list_case *m, int i)
{
    char body[32];
    snprintf(body, sizeof(body), "report %d", i);
    struct store_report_new item = contract_item(c->project, body);
    /* Some at the same time. */
    item.received_ms =
        list_case_now - 30 * (int64_t)DAY + (int64_t)list_case_pick(40) * DAY * 3 / 4;
    assert_ok(c, contract_insert(c->store, &item, 1, &c->err));
    memcpy(m->id, item.id, sizeof(m->id));
    m->received_ms = item.received_ms;
    m->order = i;
    struct store_job job = contract_claim(c, m->id);
    add_fact(m, STORE_FIELD_RECEIVED, NULL, NULL, m->received_ms);
    m->is_grouped = list_case_pick(8) > 0;
    finish(c, m, &job);
}

static void
read_issue(struct contract *c, struct list_case *m)
{
    struct store_report_issue found;
    struct store_issue issue;
    if (!m->is_grouped)
        return;
    assert_ok(c, store_report_find_issue(c->store, c->project, m->id, &c->arena, &found, &c->err));
    assert_ok(c, store_issue_get(c->store, c->project, found.number, &c->arena, &issue, &c->err));
    m->issue = found.number;
    /* Room that is known if the report is deleted comes first. */
    struct query_fact more[] = {
        {.field = STORE_FIELD_ISSUE, .number = issue.number},
        {.field = STORE_FIELD_TEXT, .text = issue.title},
        {.field = STORE_FIELD_FIRST_SEEN, .number = issue.first_ms},
        {.field = STORE_FIELD_LAST_SEEN, .number = issue.last_ms},
        {.field = STORE_FIELD_ASSIGNEE, .text = issue.assignee},
        {.field = STORE_FIELD_INTRODUCED, .text = issue.first_version},
        {.field = STORE_FIELD_INTRODUCED,
         .text = issue.first_build && *issue.first_build
                     ? fz_arena_printf(&c->arena, "%s (%s)", issue.first_version, issue.first_build)
                     : NULL},
        {.field = STORE_FIELD_IS,
         .text = issue.state == STORE_ISSUE_OPEN       ? "open"
                 : issue.state == STORE_ISSUE_RESOLVED ? "resolved"
                                                       : "ignored"},
        {.field = STORE_FIELD_IS, .text = issue.assignee ? NULL : "unassigned"},
        {.field = STORE_FIELD_IS,
         .text =
             issue.state == STORE_ISSUE_OPEN && issue.first_ms >= list_case_now - 7 * (int64_t)DAY
                 ? "new"
                 : NULL},
    };
    assert_true(m->n + FZ_ARRAY_LEN(more) <= FACTS);
    memmove(m->facts + m->n_row + FZ_ARRAY_LEN(more), m->facts + m->n_row,
            (m->n - m->n_row) * sizeof(*m->facts));
    memcpy(m->facts + m->n_row, more, sizeof(more));
    m->n_row += FZ_ARRAY_LEN(more);
    m->n += FZ_ARRAY_LEN(more);
}

void
list_case_delete(struct contract *c, struct list_case *one)
{
    assert_ok(c, store_report_delete(c->store, c->project, one->id, &c->err));
    one->is_deleted = true;
}

struct list_case *
list_case_make(struct contract *c)
{
    struct list_case *all = fz_arena_array(&c->arena, REPORTS, sizeof(*all));
    assert_non_null(all);
    memset(all, 0, REPORTS * sizeof(*all));
    for (int i = 0; i < REPORTS; i++)
        make(c, &all[i], i);
    contract_sql(c, "UPDATE issues SET state = 1, assignee = 'Ann' WHERE number = 2",
                 "UPDATE issues SET state = 1, assignee = 'Ann' WHERE number = 2");
    for (int i = 0; i < REPORTS; i++)
        read_issue(c, &all[i]);
    for (int i = 0; i < REPORTS; i++) {
        if (list_case_pick(12) > 0)
            continue;
        list_case_delete(c, &all[i]);
    }
    return all;
}
