/*
 * Chunks, the files put together from them, releases and deploys.
 */
#include "contract.h"

#include <stdio.h>
#include <string.h>

#include "storage/store_chunks.h"
#include "storage/store_releases.h"

/* The hash that everything about `what` is called by here. */
static void
name_sha1(const char *what, char ret[FZ_SHA1_TEXT])
{
    struct fz_hash *hash = NULL;
    assert_int_equal(fz_hash_create(FZ_HASH_SHA1, &hash, NULL), FZ_OK);
    fz_hash_update(hash, fz_span_cstr(what));
    fz_hash_finish(hash, ret);
    fz_hash_destroyp(&hash);
}

static int64_t
token(struct contract *c)
{
    char text[STORE_TOKEN_TEXT];
    int64_t id = 0;
    assert_ok(
        c, store_token_create(c->store, c->project, STORE_SCOPE_UPLOAD, "ci", text, &id, &c->err));
    return id;
}

static struct store_chunk
chunk(int64_t token_id, const char *what, const char *blob)
{
    struct store_chunk made = {.token_id = token_id, .size = strlen(what)};
    name_sha1(what, made.sha1);
    fz_sha256_hex(fz_span_cstr(blob), made.blob_sha256);
    return made;
}

static void
put(struct contract *c, const struct store_chunk *made, bool want_kept)
{
    bool kept = !want_kept;
    assert_ok(c, store_chunk_put(c->store, made, &kept, &c->err));
    assert_int_equal(kept, want_kept);
}

static void
test_chunks(void **state)
{
    struct contract *c = *state;
    int64_t mine = token(c), theirs = token(c);
    struct store_chunk a = chunk(mine, "a", "blob a"), b = chunk(mine, "bb", "blob b");
    put(c, &a, true);
    put(c, &b, true);
    struct store_chunk again = chunk(mine, "a", "another blob");
    put(c, &again, false);
    struct store_chunk other = chunk(theirs, "a", "their blob");
    put(c, &other, true);

    /* In the order that was asked for, the same one twice, one that is not there. */
    struct store_chunk list[] = {chunk(0, "bb", ""), chunk(0, "nope", ""), chunk(0, "a", ""),
                                 chunk(0, "bb", "")};
    assert_ok(c, store_chunk_find(c->store, mine, list, 4, 0, &c->arena, &c->err));
    assert_true(list[0].is_there && !list[1].is_there && list[2].is_there && list[3].is_there);
    assert_string_equal(list[0].blob_sha256, b.blob_sha256);
    assert_string_equal(list[2].blob_sha256, a.blob_sha256);
    assert_int_equal(list[3].size, 2);
    assert_int_equal(list[2].token_id, mine);
    /* Another token's chunks are nobody else's. */
    assert_ok(c, store_chunk_find(c->store, theirs, list, 4, 0, &c->arena, &c->err));
    assert_true(!list[0].is_there && list[2].is_there);
    assert_string_equal(list[2].blob_sha256, other.blob_sha256);
    assert_ok(c, store_chunk_find(c->store, mine, NULL, 0, 0, &c->arena, &c->err));

    snprintf(list[0].sha1, sizeof(list[0].sha1), "%s", "not a hash");
    assert_fails(c, FZ_E_MALFORMED,
                 store_chunk_find(c->store, mine, list, 1, 0, &c->arena, &c->err));
    assert_fails(c, FZ_E_MALFORMED,
                 store_chunk_put(c->store, &list[0], &list[0].is_there, &c->err));
}

static size_t
expire(struct contract *c, struct store_chunk **ret)
{
    size_t n = 99;
    assert_ok(c, store_chunk_expire(c->store, 10, &c->arena, ret, &n, &c->err));
    return n;
}

static void
test_chunks_expire(void **state)
{
    struct contract *c = *state;
    int64_t mine = token(c);
    struct store_chunk *gone;
    struct store_chunk a = chunk(mine, "a", "blob a"), b = chunk(mine, "b", "blob b");
    put(c, &a, true);
    put(c, &b, true);
    assert_int_equal(expire(c, &gone), 0);
    static const char old[] = "UPDATE chunks SET expires_ms = 1";
    contract_sql(c, old, old);
    /* Over is over, even before anybody has swept. */
    struct store_chunk list[] = {chunk(0, "a", ""), chunk(0, "b", "")};
    assert_ok(c, store_chunk_find(c->store, mine, list, 2, 1000, &c->arena, &c->err));
    assert_true(!list[0].is_there && !list[1].is_there);
    put(c, &b, false); /* sent again in time: it lives on, with the blob that it had */
    assert_ok(c, store_chunk_find(c->store, mine, list, 2, 1000000, &c->arena, &c->err));
    assert_true(!list[0].is_there && list[1].is_there);
    assert_int_equal(expire(c, &gone), 1);
    assert_string_equal(gone->sha1, a.sha1);
    assert_string_equal(gone->blob_sha256, a.blob_sha256);
    /* While its blob is being deleted the same chunk comes again: it is a new one. */
    struct store_chunk anew = chunk(mine, "a", "a new blob");
    put(c, &anew, true);
    assert_ok(c, store_chunk_drop(c->store, gone, &c->err));
    assert_ok(c, store_chunk_find(c->store, mine, list, 2, 0, &c->arena, &c->err));
    assert_true(list[0].is_there && list[1].is_there);
    assert_string_equal(list[0].blob_sha256, anew.blob_sha256);
    /* A sweep that broke off is taken up by the next. */
    contract_sql(c, old, old);
    assert_int_equal(expire(c, &gone), 2);
    assert_int_equal(expire(c, &gone), 2);
    for (size_t i = 0; i < 2; i++)
        assert_ok(c, store_chunk_drop(c->store, &gone[i], &c->err));
    assert_int_equal(expire(c, &gone), 0);
}

static struct store_assembled
file(int64_t project, const char *what, const char *kind, bool has_job)
{
    struct store_assembled made = {.project_id = project,
                                   .kind = kind,
                                   .uuid = contract_uuid('x'),
                                   .name = "Shop",
                                   .size = strlen(what)};
    name_sha1(what, made.sha1);
    fz_sha256_hex(fz_span_cstr(what), made.blob_sha256);
    struct fz_uuid id = fz_uuid_new();
    if (has_job)
        fz_uuid_format(&id, made.upload_id);
    return made;
}

static void
test_files(void **state)
{
    struct contract *c = *state;
    struct store_assembled made = file(c->project, "dsym", "symbols", true), got;
    assert_ok(c, store_assembled_insert(c->store, &made, &c->err));
    assert_ok(c, store_assembled_get(c->store, c->project, made.sha1, &c->arena, &got, &c->err));
    assert_string_equal(got.upload_id, made.upload_id);
    assert_string_equal(got.blob_sha256, made.blob_sha256);
    assert_string_equal(got.kind, "symbols");
    assert_string_equal(got.name, "Shop");
    assert_true(fz_uuid_equal(&got.uuid, &made.uuid));
    assert_int_equal(got.size, 4);
    assert_true(got.created_ms > 1600000000000);
    /* Its upload and its job came with it. */
    struct store_upload upload;
    assert_ok(c,
              store_upload_get(c->store, c->project, made.upload_id, &c->arena, &upload, &c->err));
    assert_int_equal(upload.state, STORE_UPLOAD_QUEUED);
    assert_string_equal(upload.name, "Shop");
    struct store_job job = contract_claim(c, made.upload_id);
    assert_int_equal(job.kind, STORE_JOB_UPLOAD);

    struct store_assembled second = file(c->project, "dsym", "symbols", true);
    assert_fails(c, FZ_E_CONFLICT, store_assembled_insert(c->store, &second, &c->err));
    assert_fails(
        c, FZ_E_NOT_FOUND,
        store_upload_get(c->store, c->project, second.upload_id, &c->arena, &upload, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_assembled_get(c->store, c->other, made.sha1, &c->arena, &got, &c->err));
    struct store_assembled theirs = file(c->other, "dsym", "symbols", true);
    assert_ok(c, store_assembled_insert(c->store, &theirs, &c->err));
    assert_ok(c, store_assembled_forget(c->store, c->project, made.sha1, &c->err));
    assert_ok(c, store_assembled_forget(c->store, c->project, made.sha1, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_assembled_get(c->store, c->project, made.sha1, &c->arena, &got, &c->err));
    assert_ok(c, store_assembled_get(c->store, c->other, made.sha1, &c->arena, &got, &c->err));
    assert_ok(c, store_assembled_insert(c->store, &second, &c->err));
    struct store_assembled lost = file(4711, "dsym", "symbols", true);
    assert_fails(c, FZ_E_NOT_FOUND, store_assembled_insert(c->store, &lost, &c->err));
}

static void
test_files_that_are_kept(void **state)
{
    struct contract *c = *state;
    struct store_assembled sources = file(c->project, "src", "sources", false), got;
    struct store_assembled bare = file(c->project, "bare", "sources", false);
    bare.uuid = (struct fz_uuid){{0}};
    assert_ok(c, store_assembled_insert(c->store, &sources, &c->err));
    assert_ok(c, store_assembled_insert(c->store, &bare, &c->err));
    assert_ok(c, store_assembled_get(c->store, c->project, sources.sha1, &c->arena, &got, &c->err));
    assert_string_equal(got.sha1, sources.sha1);
    assert_string_equal(got.upload_id, "");
    assert_ok(c, store_assembled_get(c->store, c->project, bare.sha1, &c->arena, &got, &c->err));
    assert_true(fz_uuid_is_nil(&got.uuid));
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_assembled_get(c->store, c->other, sources.sha1, &c->arena, &got, &c->err));
    struct store_job none;
    assert_int_equal(contract_claim_all(c, &none, 1), 0);
}

static void
test_releases(void **state)
{
    struct contract *c = *state;
    struct store_release release = {.version = "app@1.0+1", .started_ms = 5}, got, *list;
    bool created = false;
    size_t n;
    assert_ok(
        c, store_release_put(c->store, c->project, &release, &c->arena, &got, &created, &c->err));
    assert_true(created);
    assert_string_equal(got.status, "open");
    assert_null(got.commits);
    /* A second call changes only what it names. */
    release = (struct store_release){
        .version = "app@1.0+1", .commits = "[{\"id\":\"1\"}]", .released_ms = 7};
    assert_ok(
        c, store_release_put(c->store, c->project, &release, &c->arena, &got, &created, &c->err));
    assert_false(created);
    assert_int_equal(got.started_ms, 5);
    assert_int_equal(got.released_ms, 7);
    assert_string_equal(got.commits, "[{\"id\":\"1\"}]");
    release = (struct store_release){.version = "app@1.0+1", .status = "archived", .ref = "main"};
    assert_ok(
        c, store_release_put(c->store, c->project, &release, &c->arena, &got, &created, &c->err));
    assert_string_equal(got.status, "archived");
    assert_string_equal(got.ref, "main");
    assert_int_equal(got.released_ms, 7);

    release = (struct store_release){.version = "app@1.1+2"};
    assert_ok(
        c, store_release_put(c->store, c->project, &release, &c->arena, &got, &created, &c->err));
    assert_ok(c, store_release_list(c->store, c->project, 0, &c->arena, &list, &n, &c->err));
    assert_int_equal(n, 2);
    assert_string_equal(list[0].version, "app@1.1+2");
    assert_null(list[1].commits);
    assert_ok(c, store_release_list(c->store, c->project, 1, &c->arena, &list, &n, &c->err));
    assert_int_equal(n, 1);
    assert_string_equal(list[0].version, "app@1.0+1");
    assert_ok(c, store_release_list(c->store, c->other, 0, &c->arena, &list, &n, &c->err));
    assert_int_equal(n, 0);
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_release_get(c->store, c->other, "app@1.1+2", &c->arena, &got, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND, store_release_delete(c->store, c->other, "app@1.1+2", &c->err));
    assert_ok(c, store_release_delete(c->store, c->project, "app@1.1+2", &c->err));
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_release_get(c->store, c->project, "app@1.1+2", &c->arena, &got, &c->err));

    char longest[STORE_VERSION_MAX + 2];
    memset(longest, 'v', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    const char *const bad[] = {"", "a\nb", "\xff", longest};
    for (size_t i = 0; i < FZ_ARRAY_LEN(bad); i++) {
        release.version = bad[i];
        assert_fails(
            c, FZ_E_MALFORMED,
            store_release_put(c->store, c->project, &release, &c->arena, &got, &created, &c->err));
        assert_fails(c, FZ_E_NOT_FOUND,
                     store_release_get(c->store, c->project, bad[i], &c->arena, &got, &c->err));
    }
    release.version = longest + 1;
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_release_put(c->store, 4711, &release, &c->arena, &got, &created, &c->err));
}

static void
test_deploys(void **state)
{
    struct contract *c = *state;
    struct store_release release = {.version = "1"}, got;
    struct store_deploy deploy = {.environment = "prod", .finished_ms = 9}, *list;
    bool created;
    size_t n;
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_deploy_insert(c->store, c->project, "1", &deploy, &c->err));
    assert_ok(
        c, store_release_put(c->store, c->project, &release, &c->arena, &got, &created, &c->err));
    assert_ok(c, store_deploy_insert(c->store, c->project, "1", &deploy, &c->err));
    int64_t first = deploy.id;
    deploy = (struct store_deploy){.environment = "beta", .name = "n", .started_ms = 3};
    assert_ok(c, store_deploy_insert(c->store, c->project, "1", &deploy, &c->err));
    assert_true(deploy.id > first);
    assert_true(deploy.finished_ms > 1600000000000);
    assert_ok(c, store_deploy_list(c->store, c->project, "1", &c->arena, &list, &n, &c->err));
    assert_int_equal(n, 2);
    assert_string_equal(list[0].environment, "beta");
    assert_string_equal(list[0].name, "n");
    assert_int_equal(list[1].finished_ms, 9);
    assert_fails(c, FZ_E_NOT_FOUND, store_deploy_insert(c->store, c->other, "1", &deploy, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_deploy_list(c->store, c->other, "1", &c->arena, &list, &n, &c->err));
    assert_ok(c, store_release_delete(c->store, c->project, "1", &c->err));
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_deploy_list(c->store, c->project, "1", &c->arena, &list, &n, &c->err));
}

int
contract_run_chunks(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_chunks),   contract_test(test_chunks_expire),
        contract_test(test_files),    contract_test(test_files_that_are_kept),
        contract_test(test_releases), contract_test(test_deploys),
    };
    return cmocka_run_group_tests_name("chunks", tests, NULL, NULL);
}
