#define _GNU_SOURCE /* O_TMPFILE */
#include "server/http/content.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/file.h"

enum state { MAKING, READY, FAILED };

struct http_content {
    LIST_ENTRY(http_content) link; /* guarded by contents->lock, as are the next two */
    unsigned refs;
    enum state state; /* failed ones are not in the list any more */
    struct http_contents *contents;
    char sha256[FZ_SHA256_TEXT];
    struct http_holding holding;
    uint64_t len;
    uint8_t *data; /* NULL: in the file */
    int fd;
};

void
http_contents_init(struct http_contents *contents, const char *temp_dir, uint64_t memory,
                   uint64_t disk)
{
    *contents = (struct http_contents){.temp_dir = temp_dir};
    http_budget_init(&contents->memory, "answer_memory", memory);
    http_budget_init(&contents->disk, "answer_disk", disk);
    pthread_mutex_init(&contents->lock, NULL);
    pthread_cond_init(&contents->made, NULL);
}

void
http_contents_deinit(struct http_contents *contents)
{
    http_budget_deinit(&contents->memory);
    http_budget_deinit(&contents->disk);
    pthread_mutex_destroy(&contents->lock);
    pthread_cond_destroy(&contents->made);
}

static void
destroy(struct http_content *content)
{
    free(content->data);
    fz_closep(&content->fd);
    free(content);
}

/* True if it was the last one. Under the lock. */
static bool
drop(struct http_content *content)
{
    /* Another connection still sends it, or waits for it. */
    if (--content->refs > 0)
        return false;
    if (content->state != FAILED)
        LIST_REMOVE(content, link);
    /* Now, as another thread may make it again at once: charged twice, it would be over the share of a client. */
    http_budget_release(&content->holding);
    return true;
}

/* An existing content, once it is made; NULL without one. Under the lock. */
static struct http_content *
find(struct http_contents *contents, const char *sha256, uint64_t len)
{
    for (;;) {
        struct http_content *content = LIST_FIRST(&contents->alive);
        while (content && (content->len != len || strcmp(content->sha256, sha256) != 0))
            content = LIST_NEXT(content, link);
        if (!content)
            return NULL;
        /* Before the wait: the thread that makes it may release it meanwhile. */
        content->refs++;
        while (content->state == MAKING)
            pthread_cond_wait(&contents->made, &contents->lock);
        /* It has failed: look again, another thread may be making it, or make it here. */
        if (content->state == READY)
            return content;
        if (drop(content))
            destroy(content);
    }
}

int
http_open_temp(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    /* EISDIR: kernels before 3.11 do not know the flag and see O_DIRECTORY opened for writing. */
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
        return fd;
    /* File systems without O_TMPFILE (overlays, some network ones). */
    char path[4096];
    int len = snprintf(path, sizeof(path), "%s/body-XXXXXX", folder);
    if (len < 0 || (size_t)len >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    /* Without a name it is gone with the last descriptor, even after a kill -9. */
    if (fd >= 0)
        unlink(path);
    return fd;
}

static enum fz_code
write_to(struct http_content *content, bool in_file, struct fz_span body, struct fz_error *err)
{
    if (in_file) {
        content->fd = http_open_temp(content->contents->temp_dir);
        if (content->fd >= 0 && fz_file_write_fd(content->fd, body, NULL) == FZ_OK)
            return FZ_OK;
        fz_closep(&content->fd);
        return fz_fail(err, FZ_E_UNAVAILABLE, "there is no room for the answer on the disk");
    }
    content->data = malloc(body.len);
    if (!content->data)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    memcpy(content->data, body.data, body.len);
    return FZ_OK;
}

static enum fz_code
place_in(struct http_content *content, bool in_file, struct fz_span body,
         const struct http_client *client, int64_t token_id, struct fz_error *err)
{
    struct http_contents *contents = content->contents;
    enum fz_code code = http_budget_take(in_file ? &contents->disk : &contents->memory,
                                         &content->holding, client, token_id, body.len, err);
    if (code != FZ_OK)
        return code;
    code = write_to(content, in_file, body, err);
    if (code != FZ_OK)
        http_budget_release(&content->holding);
    return code;
}

/* The better place first; with a full disk, answers still go out as long as memory lasts. */
static enum fz_code
place(struct http_content *content, struct fz_span body, const struct http_client *client,
      int64_t token_id, struct fz_error *err)
{
    bool is_short = body.len <= HTTP_CONTENT_IN_MEMORY;
    enum fz_code code = place_in(content, !is_short, body, client, token_id, err);
    /* A long answer in memory is for a full disk only: a client over its share of the disk must
     * not get a share of the memory too. */
    if (code != FZ_OK && (is_short || code == FZ_E_UNAVAILABLE))
        code = place_in(content, is_short, body, client, token_id, err);
    return code;
}

enum fz_code
http_content_make(struct http_contents *contents, struct fz_span body,
                  const struct http_client *client, int64_t token_id, struct http_content **ret,
                  struct fz_error *err)
{
    struct http_content *content = calloc(1, sizeof(*content));
    if (!content)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    *content = (struct http_content){.contents = contents, .refs = 1, .fd = -1, .len = body.len};
    /* Before the lock, for which all answers wait. */
    fz_sha256_hex(body, content->sha256);
    pthread_mutex_lock(&contents->lock);
    struct http_content *found = find(contents, content->sha256, body.len);
    /* Others with the same body find it now, and wait for it instead of writing it again. */
    if (!found)
        LIST_INSERT_HEAD(&contents->alive, content, link);
    pthread_mutex_unlock(&contents->lock);
    if (found) {
        free(content);
        *ret = found;
        return FZ_OK;
    }
    enum fz_code code = place(content, body, client, token_id, err);
    pthread_mutex_lock(&contents->lock);
    content->state = code != FZ_OK ? FAILED : READY;
    if (code != FZ_OK)
        LIST_REMOVE(content, link);
    /* Others may wait for this content in find(); whoever releases it last frees it. */
    bool last = code != FZ_OK && drop(content);
    pthread_cond_broadcast(&contents->made);
    pthread_mutex_unlock(&contents->lock);
    if (last)
        destroy(content);
    if (code == FZ_OK)
        *ret = content;
    return code;
}

void
http_content_unref(struct http_content *content)
{
    if (!content)
        return;
    struct http_contents *contents = content->contents;
    pthread_mutex_lock(&contents->lock);
    bool last = drop(content);
    pthread_mutex_unlock(&contents->lock);
    if (last)
        destroy(content);
}

uint64_t
http_content_len(const struct http_content *content)
{
    return content->len;
}

ssize_t
http_content_read(const struct http_content *content, uint64_t pos, char *to, size_t max)
{
    if (pos >= content->len)
        return 0;
    size_t n = max < content->len - pos ? max : (size_t)(content->len - pos);
    /* Without a position: several connections read the file at once. */
    if (!content->data)
        return pread(content->fd, to, n, (off_t)pos);
    memcpy(to, content->data + pos, n);
    return (ssize_t)n;
}
