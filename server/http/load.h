/*
 * How many requests wait for what has a limited speed (storing reports), and when those are enough.
 *
 * There may wait as many as were answered in the last quarter of a second, and always at least `at_least`; so none waits much
 * longer than that, and what waits needs little memory, however many clients there are. Further ones are refused at once, which
 * costs little. A project that has few of the places still gets one, until there are twice as many: who floods the server does not
 * shut out the others. Thread-safe.
 */
#ifndef HTTP_LOAD_H
#define HTTP_LOAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { HTTP_LOAD_SHARES = 64 };

struct http_load {
    pthread_mutex_t lock; /* all below */
    unsigned at_least, limit;
    unsigned n, shares[HTTP_LOAD_SHARES]; /* that wait; by project */
    unsigned n_left;                      /* since the last look */
    double per_s;                         /* answered, the mean of some looks */
    int64_t looked_ms;
};

/* The place of one request; zeroed: none. */
struct http_place {
    bool is_taken;
    unsigned share;
};

void http_load_init(struct http_load *load, unsigned at_least, int64_t now_ms);
void http_load_deinit(struct http_load *load);

/* Would http_load_enter() succeed? For a request whose body has not been read. */
bool http_load_has_room(struct http_load *load, int64_t project_id);
/* Take a place; false: there is none. */
bool http_load_enter(struct http_load *load, int64_t project_id, struct http_place *place);
/* Give it back. Without one nothing happens. */
void http_load_leave(struct http_load *load, struct http_place *place);

/* About ten times a second: how many are answered. */
void http_load_look(struct http_load *load, int64_t now_ms);

#endif
