/* Which blobs the object store has, one folder at a time, and uploads in parts that no one ends. */
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/text.h"
#include "base/time.h"
#include "storage/blob/blob_s3.h"
#include "storage/blob/blob_s3_xml.h"

/* A folder of a billion blobs has 4 million, in pages of a thousand. */
enum { PAGES_MAX = 10000, KEY_MAX = 512, FEW_PAGES = 100 };

struct entry {
    char key[KEY_MAX]; /* after the prefix */
    int64_t put_ms;
};

/* What follows the prefix of this store; NULL: it is not of this store. */
static const char *
own_key(const struct blob_s3 *s3, const char *key)
{
    return fz_text_has_prefix(key, s3->place.prefix) ? key + strlen(s3->place.prefix) : NULL;
}

/* ab/cd/<sha256>, to the hash; NULL: another key. */
static const char *
blob_of(const char *key)
{
    char own[BLOB_S3_KEY];
    const char *sha256 = fz_text_base_name(key);
    if (!fz_text_is_hex(sha256, FZ_SHA256_TEXT - 1))
        return NULL;
    blob_s3_key(sha256, own);
    return strcmp(own, key) == 0 ? sha256 : NULL;
}

/* The next <Contents> of a page. */
static bool
next_entry(const struct blob_s3 *s3, struct fz_span page, size_t *pos, struct entry *ret)
{
    struct fz_span contents;
    char key[KEY_MAX], time[64];
    while (blob_s3_xml_next(page, "Contents", pos, &contents)) {
        bool good = blob_s3_xml_text(contents, "Key", key, sizeof(key)) &&
                    blob_s3_xml_text(contents, "LastModified", time, sizeof(time)) &&
                    fz_time_parse(fz_span_cstr(time), &ret->put_ms);
        const char *own = good ? own_key(s3, key) : NULL;
        if (!own)
            continue;
        snprintf(ret->key, sizeof(ret->key), "%s", own);
        return true;
    }
    return false;
}

/* One page of the keys that begin with `folder` and come after `after`, both without the prefix.
 * (Amazon S3 API Reference, ListObjectsV2; start-after and no continuation-token, because its
 * characters need not be signed alike by all versions of libcurl.) */
static enum fz_code
get_page(struct blob_s3 *s3, const char *folder, const char *after, int max_keys,
         struct net_signed_answer *ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer query = fz_buffer_make(0);
    fz_buffer_printf(&query, "list-type=2&max-keys=%d&prefix=", max_keys);
    blob_s3_encode(&query, s3->place.prefix);
    blob_s3_encode(&query, folder);
    if (*after) {
        fz_buffer_text(&query, "&start-after=");
        blob_s3_encode(&query, s3->place.prefix);
        blob_s3_encode(&query, after);
    }
    const struct blob_s3_call call = {
        .method = "GET", .is_bucket = true, .query = fz_buffer_cstr(&query)};
    enum fz_code code = fz_buffer_done(&query, err);
    *ret = (struct net_signed_answer){.status = 0};
    return code == FZ_OK ? blob_s3_send(s3, &call, ret, err) : code;
}

static bool
is_truncated(const struct net_signed_answer *answer)
{
    char text[8];
    return blob_s3_xml_text(fz_buffer_span(&answer->text), "IsTruncated", text, sizeof(text)) &&
           strcmp(text, "true") == 0;
}

/* ---- the folder that is next ---- */

/* The first folder that has blobs after `after`; "": there is none. */
static enum fz_code
find_folder(struct blob_s3 *s3, const char *after, char ret[3], struct fz_error *err)
{
    struct entry entry = {.key = ""};
    enum fz_code code = FZ_OK;
    bool more = true;
    ret[0] = '\0';
    /* '~' comes after all that names of blobs have. */
    if (*after)
        snprintf(entry.key, sizeof(entry.key), "%s/~", after);
    for (int i = 0; code == FZ_OK && more && !ret[0] && i < FEW_PAGES; i++) {
        struct net_signed_answer answer;
        size_t pos = 0;
        code = get_page(s3, "", entry.key, 100, &answer, err);
        more = code == FZ_OK && is_truncated(&answer);
        while (code == FZ_OK && !ret[0] &&
               next_entry(s3, fz_buffer_span(&answer.text), &pos, &entry)) {
            if (blob_of(entry.key))
                snprintf(ret, 3, "%.2s", entry.key);
        }
        net_signed_answer_deinit(&answer);
    }
    return code;
}

/* ---- blobs ---- */

struct listing {
    struct blob_s3 *s3;
    char folder[4]; /* "ab/" */
    int64_t age_ms;
    blob_old_fn on_old;
    void *user;
};

static enum fz_code
list_page(const struct listing *list, const struct net_signed_answer *page, struct entry *last,
          struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    size_t pos = 0;
    int64_t now_ms = page->date_ms ? page->date_ms : fz_time_now_ms();
    while (code == FZ_OK && next_entry(list->s3, fz_buffer_span(&page->text), &pos, last)) {
        const char *sha256 = blob_of(last->key);
        /* By the store's clock, which has dated it. */
        if (sha256 && now_ms - last->put_ms > list->age_ms)
            code = list->on_old(list->user, sha256, err);
    }
    return code;
}

static enum fz_code
list_folder(const struct listing *list, struct fz_error *err)
{
    struct entry last = {.key = ""};
    enum fz_code code = FZ_OK;
    bool more = true;
    for (int i = 0; code == FZ_OK && more && i < PAGES_MAX; i++) {
        struct net_signed_answer answer;
        char before[KEY_MAX];
        memcpy(before, last.key, sizeof(before));
        code = get_page(list->s3, list->folder, last.key, 1000, &answer, err);
        if (code == FZ_OK)
            code = list_page(list, &answer, &last, err);
        /* Each page goes on, or the next one would be the same. */
        more = code == FZ_OK && is_truncated(&answer) && strcmp(before, last.key) != 0;
        net_signed_answer_deinit(&answer);
    }
    return code;
}

/* ---- uploads that no one ends ---- */

static void
abort_one(struct blob_s3 *s3, const char *key, const char *id)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer query = fz_buffer_make(0);
    fz_buffer_text(&query, "uploadId=");
    blob_s3_encode(&query, id);
    const struct blob_s3_call call = {
        .method = "DELETE", .key = key, .query = fz_buffer_cstr(&query), .patience = BLOB_S3_PROBE};
    fz_ignore(blob_s3_do(s3, &call, NULL)); /* the next look finds it again */
}

/* Of processes that were killed, up to a hundred. Some stores cannot list them; theirs end by a rule of
 * the bucket (docs/s3.md). */
static void
clear_uploads(struct blob_s3 *s3, int64_t age_ms)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer query = fz_buffer_make(0);
    fz_buffer_text(&query, "max-uploads=100&prefix=");
    blob_s3_encode(&query, s3->place.prefix);
    fz_buffer_text(&query, "&uploads=");
    const struct blob_s3_call call = {.method = "GET",
                                      .is_bucket = true,
                                      .query = fz_buffer_cstr(&query),
                                      .patience = BLOB_S3_PROBE};
    struct net_signed_answer answer;
    struct fz_span upload;
    size_t pos = 0;
    enum fz_code code = blob_s3_send(s3, &call, &answer, NULL);
    int64_t now_ms = answer.date_ms ? answer.date_ms : fz_time_now_ms(), begun_ms = 0;
    while (code == FZ_OK &&
           blob_s3_xml_next(fz_buffer_span(&answer.text), "Upload", &pos, &upload)) {
        char key[KEY_MAX], id[256], time[64];
        bool good = blob_s3_xml_text(upload, "Key", key, sizeof(key)) &&
                    blob_s3_xml_text(upload, "UploadId", id, sizeof(id)) &&
                    blob_s3_xml_text(upload, "Initiated", time, sizeof(time)) &&
                    fz_time_parse(fz_span_cstr(time), &begun_ms);
        const char *own = good ? own_key(s3, key) : NULL;
        if (own && blob_of(own) && now_ms - begun_ms > age_ms)
            abort_one(s3, own, id);
    }
    net_signed_answer_deinit(&answer);
}

enum fz_code
blob_s3_list_old(struct blob_s3 *s3, struct blob_place *place, int64_t age_ms, blob_old_fn on_old,
                 void *user, struct fz_error *err)
{
    struct listing list = {.s3 = s3, .age_ms = age_ms, .on_old = on_old, .user = user};
    char folder[3];
    place = place ? place : &s3->scanned;
    enum fz_code code = find_folder(s3, place->folder, folder, err);
    /* Once each time round. */
    if (code == FZ_OK && (!folder[0] || !place->folder[0]))
        clear_uploads(s3, age_ms);
    /* After the last one from the start again. */
    if (code == FZ_OK && !folder[0] && place->folder[0])
        code = find_folder(s3, "", folder, err);
    if (code != FZ_OK || !folder[0])
        return code;
    memcpy(place->folder, folder, sizeof(folder));
    snprintf(list.folder, sizeof(list.folder), "%s/", folder);
    return list_folder(&list, err);
}
