/*
 * The contract of storage/store.h as tests that run against any engine; main.c picks the databases.
 *
 * Each test gets an empty database of its own with two projects: SQLite a new file, PostgreSQL a
 * new database, in which framezero's schema is not `public`.
 */
#ifndef CONTRACT_H
#define CONTRACT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "server/report/columns.h"
#include "storage/store_jobs.h"
#include "storage/store_report_search.h"

struct contract {
    char url[512];
    char dir[64];      /* a folder for this test's files */
    char database[32]; /* of this test, in the cluster; "" = SQLite */
    struct store *store;
    struct fz_arena arena;
    int64_t project, other; /* ids of two projects */
    struct fz_error err;
};

/* The text of the error is shown if the code is not the wanted one. */
void contract_code(const struct contract *c, enum fz_code want, enum fz_code got, const char *what,
                   int line);
#define assert_ok(c, call) contract_code((c), FZ_OK, (call), #call, __LINE__)
#define assert_fails(c, want, call) contract_code((c), (want), (call), #call, __LINE__)

/* Tests run against PostgreSQL, not SQLite. false: the cluster or the pooler is not in the environment, and this was printed. */
bool contract_use_postgresql(bool is_pooled);
int contract_setup(void **state);
int contract_teardown(void **state);
#define contract_test(fn) cmocka_unit_test_setup_teardown(fn, contract_setup, contract_teardown)

bool contract_is_sqlite(const struct contract *c);
/* Store reports in one commit, as the committer does. */
enum fz_code contract_insert(struct store *store, struct store_report_new *items, size_t n,
                             struct fz_error *err);
/* Another connection to the same database. */
struct store *contract_open(struct contract *c);
/* Run SQL: for contents of a damaged database. */
void contract_sql(struct contract *c, const char *sqlite, const char *postgresql);

/* An item with a new id and the text as its body. */
struct store_report_new contract_item(int64_t project, const char *body);
/* Insert one report; its id. */
void contract_report(struct contract *c, int64_t project, const char *body,
                     char ret_id[STORE_ID_TEXT]);
void contract_upload(struct contract *c, int64_t project, char ret_id[STORE_ID_TEXT]);
/* Claim exactly one job, whose subject must be `id` (NULL: any). */
struct store_job contract_claim(struct contract *c, const char *id);
size_t contract_claim_all(struct contract *c, struct store_job *ret, size_t max);
/* Values of the columns that are named in pairs with their texts, up to NULL; the others are unknown. */
const union fz_value *contract_values(struct contract *c, const char *const *pairs);
const char *contract_text(const struct store_report *report, const char *column);
/* What a list is asked for, by the names of URL parameters; values of one name are alternatives. */
struct contract_where {
    const char *filter, *value;
};
struct contract_filter {
    const struct contract_where *where;
    size_t n_where;
    int64_t since_ms, until_ms;                 /* of received_ms */
    int64_t crashed_since_ms, crashed_until_ms; /* of timestamp_ms */
    enum store_report_order order;
};
struct store_query contract_query(struct contract *c, const struct contract_filter *filter);
/* One page of a list; *ret_cursor as `next` of struct store_page. */
enum fz_code contract_report_list(struct contract *c, int64_t project,
                                  const struct contract_filter *filter, const char *cursor,
                                  size_t limit, struct store_report **ret, size_t *ret_n,
                                  const char **ret_cursor);
enum fz_code contract_symbol_list(struct contract *c, int64_t project, const struct fz_uuid *uuid,
                                  const char *cursor, size_t limit, struct store_symbol **ret,
                                  size_t *ret_n, const char **ret_cursor);
/* Finish a report job with these waits (each UUID is given by one byte; NULL = none). */
enum fz_code contract_finish(struct contract *c, const struct store_job *job, const char *waits);
/* Finish an upload job with symbol files (one byte each) in this state. */
enum fz_code contract_finish_upload(struct contract *c, const struct store_job *job,
                                    const char *uuids, enum store_symbol_state state,
                                    uint64_t *ret_unblocked);
struct fz_uuid contract_uuid(char c);

/* Run fn(c, i) in n processes at once, each with a connection of its own; all must return 0. */
typedef int (*contract_child_fn)(struct contract *c, int i, void *user);
void contract_fork(struct contract *c, int n, contract_child_fn fn, void *user);

int contract_run_projects(void);
int contract_run_migrate(void);
int contract_run_reports(void);
int contract_run_list(void);
int contract_run_jobs(void);
int contract_run_queue(void);
int contract_run_unblock(void);
int contract_run_rebuild(void);
int contract_run_processes(void);
int contract_run_ints(void);
int contract_run_committer(void);
int contract_run_isolation(void);
int contract_run_row_security(void);
int contract_run_learned(void);
int contract_run_chunks(void);
int contract_run_sessions(void);
int contract_run_versions(void);
int contract_run_usage(void);
int contract_run_audit(void);
int contract_run_people(void);
int contract_run_changes(void);
int contract_run_memory(void);
int contract_run_dictionaries(void);
int contract_run_retention(void);
int contract_run_months(void);
int contract_run_runs(void);
int contract_run_grouping(void);
int contract_run_outbox(void);
int contract_run_channels(void);
int contract_run_users(void);
int contract_run_issue_actions(void);
int contract_run_lists(void);
int contract_run_sealing(void);
int contract_run_rules(void);
int contract_run_rules_many(void);
int contract_run_similar(void);

#endif
