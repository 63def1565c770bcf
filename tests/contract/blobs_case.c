#include "tests/contract/blobs_case.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "storage/blob/blob_s3.h"

const char *blobs_case_url;

bool
blobs_case_is_s3(void)
{
    return strcmp(blobs_case_url, "file") != 0;
}

struct blob_store *
blobs_case_open(struct blobs_case *c, const char *cache, uint64_t cache_bytes)
{
    char folder[128];
    struct blob_store *ret = NULL;
    struct blob_config config = c->config;
    snprintf(folder, sizeof(folder), "%s/%s", c->dir, cache);
    config.cache_dir = folder;
    config.cache_bytes = cache_bytes;
    assert_int_equal(blob_open(&config, &ret, &c->err), FZ_OK);
    return ret;
}

int
blobs_case_set_up(void **state)
{
    struct blobs_case *c = calloc(1, sizeof(*c));
    uint64_t random;
    assert_non_null(c);
    fz_random(&random, sizeof(random));
    snprintf(c->dir, sizeof(c->dir), "/tmp/fzblobs.XXXXXX");
    assert_non_null(mkdtemp(c->dir));
    snprintf(c->cache, sizeof(c->cache), "%s/cache", c->dir);
    /* A prefix of its own: what other tests put is not there. */
    const char *query = strchr(blobs_case_url, '?');
    if (!blobs_case_is_s3())
        snprintf(c->url, sizeof(c->url), "file:%s/blobs", c->dir);
    else
        snprintf(c->url, sizeof(c->url), "%.*s/test-%016llx%s",
                 (int)(query ? (size_t)(query - blobs_case_url) : strlen(blobs_case_url)),
                 blobs_case_url, (unsigned long long)random, query ? query : "");
    c->config =
        (struct blob_config){.url = c->url, .cache_dir = c->cache, .cache_bytes = 64 * 1024 * 1024};
    enum fz_code code = blob_open(&c->config, &c->blobs, &c->err);
    if (code != FZ_OK)
        fail_msg("%s: %s", c->url, c->err.text);
    if (blobs_case_has_control()) {
        blobs_case_faults("[]");
        blobs_case_requests("");
    }
    *state = c;
    return 0;
}

int
blobs_case_tear_down(void **state)
{
    struct blobs_case *c = *state;
    char command[128];
    blob_close(c->blobs);
    snprintf(command, sizeof(command), "rm -rf %s", c->dir);
    int failed = system(command);
    free(c);
    return failed;
}

enum fz_code
blobs_case_put(struct blob_store *blobs, struct fz_span bytes, char ret_sha256[FZ_SHA256_TEXT],
               struct fz_error *err)
{
    FZ_CLEANUP(fz_closep) int fd = -1;
    uint64_t size = 0;
    enum fz_code code = blob_temp(blobs, &fd, err);
    if (code == FZ_OK)
        code = fz_file_write_fd(fd, bytes, err);
    if (code == FZ_OK)
        code = blob_put_fd(blobs, fd, ret_sha256, &size, err);
    if (code == FZ_OK)
        assert_int_equal(size, bytes.len);
    return code;
}

void
blobs_case_expect(struct blobs_case *c, const char *sha256, struct fz_span want)
{
    FZ_CLEANUP(fz_closep) int fd = -1;
    struct fz_map map;
    enum fz_code code = blob_get_fd(c->blobs, sha256, &fd, &c->err);
    if (code != FZ_OK)
        fail_msg("%s: %s", sha256, c->err.text);
    assert_int_equal(write(fd, "x", 1), -1); /* read-only */
    assert_int_equal(fz_map_open_fd(fd, &map, &c->err), FZ_OK);
    assert_true(fz_span_equal(map.bytes, want));
    fz_map_close(&map);
}

static void
damage_object(struct blobs_case *c, const char *sha256, const char *bytes)
{
    struct blob_s3 *s3 = (struct blob_s3 *)c->blobs;
    char key[BLOB_S3_KEY], hash[FZ_SHA256_TEXT];
    blob_s3_key(sha256, key);
    fz_sha256_hex(fz_span_cstr(bytes), hash);
    const struct blob_s3_call call = {
        .method = "PUT", .key = key, .sha256 = hash, .body = fz_span_cstr(bytes)};
    assert_int_equal(blob_s3_do(s3, &call, &c->err), FZ_OK);
}

void
blobs_case_damage(struct blobs_case *c, const char *sha256, const char *bytes)
{
    char path[256];
    if (blobs_case_is_s3()) {
        damage_object(c, sha256, bytes);
        return;
    }
    snprintf(path, sizeof(path), "%s/blobs/%.2s/%.2s/%s", c->dir, sha256, sha256 + 2, sha256);
    assert_int_equal(chmod(path, 0600), 0);
    FZ_CLEANUP(fz_closep) int fd = open(path, O_WRONLY | O_TRUNC);
    assert_true(fd >= 0);
    assert_int_equal(fz_file_write_fd(fd, fz_span_cstr(bytes), &c->err), FZ_OK);
}

uint8_t *
blobs_case_bytes(size_t len, unsigned seed)
{
    uint8_t *ret = malloc(len ? len : 1);
    uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    assert_non_null(ret);
    for (size_t i = 0; i < len; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        ret[i] = (uint8_t)x;
    }
    return ret;
}

/* ---- a server that can be told to fail ---- */

bool
blobs_case_has_control(void)
{
    const char *url = getenv("FZ_S3_CONTROL");
    return url && *url;
}

static void
control(const char *method, const char *path, const char *body, struct fz_buffer *ret)
{
    char url[256];
    struct net_signed *http = NULL;
    struct net_signed_answer answer;
    snprintf(url, sizeof(url), "%s%s", getenv("FZ_S3_CONTROL"), path);
    const struct net_signed_request request = {.method = method,
                                               .url = url,
                                               .body = fz_span_cstr(body),
                                               .connect_ms = 3000,
                                               .stall_ms = 10000};
    assert_int_equal(net_signed_create(&http, NULL), FZ_OK);
    net_signed_send(http, &request, &answer);
    assert_int_equal(answer.status, 200);
    if (ret)
        fz_buffer_append(ret, answer.text.data, answer.text.len);
    net_signed_answer_deinit(&answer);
    net_signed_destroy(http);
}

void
blobs_case_faults(const char *json)
{
    control("POST", "/-/faults", json, NULL);
}

void
blobs_case_skew(const char *seconds)
{
    control("POST", "/-/skew", seconds, NULL);
}

size_t
blobs_case_requests(const char *part)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    size_t n = 0;
    control("GET", "/-/requests", NULL, &text);
    for (const char *line = fz_buffer_cstr(&text); *line; line += strcspn(line, "\n") + 1) {
        const char *at = strstr(line, part);
        n += at && at < line + strcspn(line, "\n");
    }
    return n;
}

size_t
blobs_case_uploads(void)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    uint64_t n = 0;
    control("GET", "/-/uploads", NULL, &text);
    assert_true(fz_text_u64(fz_buffer_span(&text), &n));
    return (size_t)n;
}
