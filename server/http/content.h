/*
 * The body of a large answer: kept once however many clients read it, and in a file rather than in
 * memory if it is long or memory is short, so that slow readers cost little.
 *
 * Reference-counted, thread-safe. What is kept is charged to the limits answer_memory and
 * answer_disk.
 */
#ifndef HTTP_CONTENT_H
#define HTTP_CONTENT_H

#include <pthread.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "base/digest.h"
#include "server/http/budget.h"

enum {
    HTTP_CONTENT_FROM = 16 * 1024,        /* shorter bodies are copied */
    HTTP_CONTENT_IN_MEMORY = 1024 * 1024, /* longer ones go into a file */
    HTTP_CONTENT_BLOCK = 16 * 1024,       /* what a connection holds of it at a time */
};

struct http_content; /* opaque */

struct http_contents {
    struct http_budget memory, disk;
    const char *temp_dir; /* borrowed */
    pthread_mutex_t lock;
    pthread_cond_t made;                       /* one is ready, or failed */
    LIST_HEAD(http_alive, http_content) alive; /* guarded by lock */
};

void http_contents_init(struct http_contents *contents, const char *temp_dir, uint64_t memory,
                        uint64_t disk);
void http_contents_deinit(struct http_contents *contents); /* all contents must be gone */

/* The content with these bytes: one that is alive, or a new one, charged to the client and token.
 * LIMIT, UNAVAILABLE: over budget, or the disk is full. */
FZ_MUST_CHECK enum fz_code http_content_make(struct http_contents *contents, struct fz_span body,
                                             const struct http_client *client, int64_t token_id,
                                             struct http_content **ret, struct fz_error *err);
void http_content_unref(struct http_content *content); /* may be NULL */
uint64_t http_content_len(const struct http_content *content);
/* Up to `max` bytes from `pos`; 0 at the end, -1 if the file cannot be read. */
ssize_t http_content_read(const struct http_content *content, uint64_t pos, char *to, size_t max);

/* A file without a name; -1 with errno. */
int http_open_temp(const char *folder);

#endif
