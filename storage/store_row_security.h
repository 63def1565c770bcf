/*
 * Row security: PostgreSQL itself keeps a connection that answers a request from the rows of other projects.
 *
 * Every statement names its project anyway; this is a second barrier, for the day when one forgets to. It is off until an operator
 * turns it on. Then a connection that was confined sees and changes the rows of the project that store_see_project() has named, and
 * none before. Connections that were not confined (workers, commands, those that count over all projects) are the owner's and see
 * all. With SQLite all connections do.
 */
#ifndef STORE_ROW_SECURITY_H
#define STORE_ROW_SECURITY_H

#include "storage/store.h"

/* From now on, also after the connection was lost, it sees the rows of one project, if the database has that turned on; at first of
 * none. Outside of transactions. UNAVAILABLE: it is on, and the role for it cannot be taken on. */
FZ_MUST_CHECK enum fz_code store_confine(struct store *store, struct fz_error *err);
/* 0: of none. Changes nothing for a connection that is not confined. */
void store_see_project(struct store *store, int64_t project_id);
/* Does the database confine this connection? Was it to? */
bool store_is_confined(const struct store *store);
bool store_wants_confined(const struct store *store);

enum { STORE_ROLE_TEXT = 64 };
struct store_row_security {
    bool is_on;
    char role[STORE_ROLE_TEXT]; /* "" while it is off */
    size_t n_tables;            /* that have policies */
};
/* On a connection that is not confined. */
FZ_MUST_CHECK enum fz_code
store_row_security_get(struct store *store, struct store_row_security *ret, struct fz_error *err);

/* Turn it on, or bring it up to date; servers that run notice it in seconds. On a failure it stays as it was for them, and the same
 * call may be made again. UNSUPPORTED: SQLite. DENIED: the user of the database may not do so; the text says what somebody else has to
 * do. */
FZ_MUST_CHECK enum fz_code store_row_security_on(struct store *store, struct fz_error *err);
/* The role and its privileges stay, for connections that have it. */
FZ_MUST_CHECK enum fz_code store_row_security_off(struct store *store, struct fz_error *err);

/* Each table, and how it is protected. The suite of the contract compares it with the tables that there are. */
struct store_row_rule {
    const char *table;
    const char *condition; /* a row that a request may see; NULL: there is no policy */
    const char *grants; /* privileges of requests; NULL: none, so that they do not see the table */
    const char *why;    /* a request sees all rows: there is no policy, or only one for changes */
};
extern const struct store_row_rule store_row_rules[];
extern const size_t store_n_row_rules;

struct sql;
/* Of a new connection. DENIED: policies apply to its user, who is not the tables' owner. */
FZ_MUST_CHECK enum fz_code store_row_security_check(struct sql *sql, struct fz_error *err);
/* After migrations: policies of new tables, and others of old ones, if it is on and the rules are not those that were applied. */
FZ_MUST_CHECK enum fz_code store_row_security_renew(struct sql *sql, struct fz_error *err);

#endif
