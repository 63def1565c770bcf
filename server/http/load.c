/*
 * The number of places follows the speed. With at_least = 256 and 2,000 reports a second that are stored:
 *
 *     answered in 100 ms   0    100   200   200   ...   200
 *     mean, a second       0    125   359   564   ...  2000
 *     places             256    256   256   256   ...   500
 *
 * A server that stores nothing for half a second, since its disk is busy, has half of the places then.
 */
#include "server/http/load.h"

#include <stddef.h>

enum {
    WAIT_MS = 250,      /* as long as one may wait for its turn */
    PART = 8,           /* of a new look in the mean */
    LOOK_EVERY_MS = 50, /* shorter ones are mostly noise: reports are stored many at once */
    SMALL_SHARE = 8,    /* a project with less than this part of all places is not shut out, */
    MOST = 2,           /* until so many times all places are taken */
};

void
http_load_init(struct http_load *load, unsigned at_least, int64_t now_ms)
{
    *load = (struct http_load){.at_least = at_least, .limit = at_least, .looked_ms = now_ms};
    pthread_mutex_init(&load->lock, NULL);
}

void
http_load_deinit(struct http_load *load)
{
    pthread_mutex_destroy(&load->lock);
}

static unsigned
share_of(int64_t project_id)
{
    return (unsigned)((uint64_t)project_id % HTTP_LOAD_SHARES);
}

/* Under the lock. */
static bool
has_room(const struct http_load *load, unsigned share)
{
    bool is_small = load->shares[share] < load->limit / SMALL_SHARE;
    return load->n < (is_small ? MOST * load->limit : load->limit);
}

bool
http_load_has_room(struct http_load *load, int64_t project_id)
{
    pthread_mutex_lock(&load->lock);
    bool room = has_room(load, share_of(project_id));
    pthread_mutex_unlock(&load->lock);
    return room;
}

bool
http_load_enter(struct http_load *load, int64_t project_id, struct http_place *place)
{
    unsigned share = share_of(project_id);
    pthread_mutex_lock(&load->lock);
    bool room = has_room(load, share);
    if (room) {
        load->n++;
        load->shares[share]++;
        *place = (struct http_place){.is_taken = true, .share = share};
    }
    pthread_mutex_unlock(&load->lock);
    return room;
}

void
http_load_leave(struct http_load *load, struct http_place *place)
{
    pthread_mutex_lock(&load->lock);
    if (place->is_taken) {
        load->n--;
        load->shares[place->share]--;
        load->n_left++;
    }
    place->is_taken = false;
    pthread_mutex_unlock(&load->lock);
}

void
http_load_look(struct http_load *load, int64_t now_ms)
{
    pthread_mutex_lock(&load->lock);
    int64_t took_ms = now_ms - load->looked_ms;
    if (took_ms >= LOOK_EVERY_MS) {
        double per_s = load->n_left * 1000.0 / (double)took_ms;
        load->per_s += (per_s - load->per_s) / (double)PART;
        load->n_left = 0;
        load->looked_ms = now_ms;
        unsigned places = (unsigned)(load->per_s * (double)WAIT_MS / 1000);
        load->limit = places > load->at_least ? places : load->at_least;
    }
    pthread_mutex_unlock(&load->lock);
}
