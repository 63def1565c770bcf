/* Indexes built anew: when a BCSymbolMap is there for hidden names, and for another version. */
#include "contract.h"
#include "issue_case.h"

#include <string.h>

static const char hash_of_file[] =
    "1111111111111111111111111111111111111111111111111111111111111111";
static const char hash_of_map[] =
    "2222222222222222222222222222222222222222222222222222222222222222";
static const char hash_of_link[] =
    "3333333333333333333333333333333333333333333333333333333333333333";

/* Image 'x'; its map is 'm' if a link says so, else it has the image's own UUID. */
static struct store_symbol
file(bool map_applied)
{
    struct store_symbol symbol = {.uuid = contract_uuid('x'),
                                  .arch = "arm64",
                                  .kind = STORE_SYMBOL_DSYM,
                                  .name = "Shop",
                                  .size = 7,
                                  .state = STORE_SYMBOL_READY,
                                  .file_sha256 = hash_of_file,
                                  .index_sha256 = hash_of_file,
                                  .index_version = 1,
                                  .has_dwarf = true,
                                  .has_map = true,
                                  .map_uuid = contract_uuid('x'),
                                  .map_applied = map_applied};
    return symbol;
}

static struct store_symbol
map(char uuid)
{
    return (struct store_symbol){.uuid = contract_uuid(uuid),
                                 .arch = "",
                                 .kind = STORE_SYMBOL_BCSYMBOLMAP,
                                 .name = "m",
                                 .state = STORE_SYMBOL_READY,
                                 .file_sha256 = hash_of_map};
}

static struct store_symbol
link_to_m(void)
{
    return (struct store_symbol){.uuid = contract_uuid('x'),
                                 .arch = "",
                                 .kind = STORE_SYMBOL_UUIDMAP,
                                 .name = "x.plist",
                                 .state = STORE_SYMBOL_READY,
                                 .file_sha256 = hash_of_link,
                                 .has_map = true,
                                 .map_uuid = contract_uuid('m')};
}

static uint64_t
finish(struct contract *c, const struct store_job *job, struct store_symbol symbol)
{
    uint64_t n_unblocked = 0;
    assert_ok(
        c, store_job_register_symbols(c->store, job, &symbol, 1, &c->arena, &n_unblocked, &c->err));
    assert_ok(c, store_job_finish_upload(c->store, job, NULL, &c->err));
    return n_unblocked;
}

static void
upload(struct contract *c, struct store_symbol symbol)
{
    char id[STORE_ID_TEXT];
    contract_upload(c, c->project, id);
    struct store_job job = contract_claim(c, id);
    finish(c, &job, symbol);
}

static size_t
claim_all(struct contract *c, struct store_job *ret)
{
    return contract_claim_all(c, ret, 8);
}

/* There is exactly one job: to build the file anew, with the map or without. */
static struct store_job
expect_rebuild(struct contract *c, const char *map_sha256)
{
    struct store_job jobs[8];
    struct store_upload row;
    assert_int_equal(claim_all(c, jobs), 1);
    assert_int_equal(jobs[0].kind, STORE_JOB_UPLOAD);
    assert_ok(c, store_upload_get(c->store, c->project, jobs[0].subject, &c->arena, &row, &c->err));
    assert_true(row.is_rebuild);
    assert_string_equal(row.blob_sha256, hash_of_file);
    assert_string_equal(row.name, "Shop");
    if (map_sha256)
        assert_string_equal(row.map_sha256, map_sha256);
    else
        assert_null(row.map_sha256);
    return jobs[0];
}

static void
expect_nothing(struct contract *c)
{
    struct store_job jobs[8];
    assert_int_equal(claim_all(c, jobs), 0);
}

static void
test_orders(void **state)
{
    struct contract *c = *state;
    static const struct {
        const char *uploads; /* f file, F file with its map applied, m map 'm', x map 'x', l link */
        bool rebuilds;
    } cases[] = {
        {"fx", true},  {"xf", true},  {"flm", true}, {"fml", true},  {"mlf", true}, {"lfm", true},
        {"lmf", true}, {"mfl", true}, {"fm", false}, {"mf", false},  {"f", false},  {"x", false},
        {"lm", false}, {"xF", false}, {"lx", false}, {"lfx", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("%s\n", cases[i].uploads);
        for (const char *p = cases[i].uploads; *p; p++)
            upload(c, *p == 'f'   ? file(false)
                      : *p == 'F' ? file(true)
                      : *p == 'l' ? link_to_m()
                                  : map(*p));
        if (cases[i].rebuilds) {
            struct store_job job = expect_rebuild(c, hash_of_map);
            finish(c, &job, file(true));
        }
        expect_nothing(c); /* its end does not cause another one */
        size_t n;
        struct fz_uuid uuids[] = {contract_uuid('x'), contract_uuid('m')};
        for (size_t k = 0; k < 2; k++)
            fz_ignore(store_symbol_delete(c->store, c->project, &uuids[k], &n, &c->err));
    }
}

/* The report that got hidden names is done again by the rebuild's end, and not by the map. */
static void
test_report_waits(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    contract_report(c, c->project, "a", id);
    upload(c, file(false));
    struct store_job report = contract_claim(c, id);
    assert_ok(c, contract_finish(c, &report, "x"));
    upload(c, map('x'));
    struct store_job job = expect_rebuild(c, hash_of_map);
    assert_int_equal(finish(c, &job, file(true)), 1);
    contract_claim(c, id);
}

/* Maps are no symbol file of an image, whatever UUID they have. */
static void
test_maps_are_no_files(void **state)
{
    struct contract *c = *state;
    struct fz_uuid x = contract_uuid('x');
    struct store_symbol found;
    bool failed, unknown;
    upload(c, map('x'));
    upload(c, link_to_m());
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_symbol_find(c->store, &(struct store_symbol_key){c->project, x, 0},
                                   &c->arena, &found, &failed, &c->err));
    assert_false(failed);
    assert_ok(c, store_symbol_unknown(c->store, c->project, &x, 1, &unknown, &c->err));
    assert_true(unknown);
}

static void
test_outdated(void **state)
{
    struct contract *c = *state;
    struct store_symbol other = file(false);
    uint64_t n = 9;
    other.has_map = false;
    upload(c, other);
    assert_ok(c, store_symbol_rebuild_outdated(c->store, 1, &n, &c->err));
    assert_int_equal(n, 0);
    assert_ok(c, store_symbol_rebuild_outdated(c->store, 2, &n, &c->err));
    assert_int_equal(n, 1);
    assert_ok(c, store_symbol_rebuild_outdated(c->store, 2, &n, &c->err));
    assert_int_equal(n, 0); /* it is queued */
    struct store_job job = expect_rebuild(c, NULL);
    other.index_version = 2;
    finish(c, &job, other);
    assert_ok(c, store_symbol_rebuild_outdated(c->store, 2, &n, &c->err));
    assert_int_equal(n, 0);
}

static struct store_job
queue_outdated(struct contract *c)
{
    uint64_t n = 0;
    assert_ok(c, store_symbol_rebuild_outdated(c->store, 2, &n, &c->err));
    assert_int_equal(n, 1);
    return expect_rebuild(c, NULL);
}

/* The slice is deleted while its index is built: it does not come back, and the new index is left to the sweep. */
static void
test_deleted_meanwhile(void **state)
{
    struct contract *c = *state;
    struct store_symbol symbol = file(false);
    symbol.has_map = false;
    upload(c, symbol);
    struct store_job job = queue_outdated(c);
    size_t n_deleted = 0;
    assert_ok(c, store_symbol_delete(c->store, c->project, &symbol.uuid, &n_deleted, &c->err));
    symbol.index_version = 2;
    symbol.index_sha256 = hash_of_map;
    finish(c, &job, symbol);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM symbol_files"), 0);
    assert_int_equal(
        contract_count(c, "SELECT count(*) FROM blob_garbage WHERE sha256 LIKE '2222%'"), 1);
    /* Who sends it anew gets it. */
    upload(c, symbol);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM symbol_files"), 1);
}

static void
test_keeps_time(void **state)
{
    struct contract *c = *state;
    static const char update[] = "UPDATE symbol_files SET uploaded_ms = 5";
    struct store_symbol symbol = file(false);
    symbol.has_map = false;
    upload(c, symbol);
    contract_sql(c, update, update);
    struct store_job job = queue_outdated(c);
    symbol.index_version = 2;
    finish(c, &job, symbol);
    assert_int_equal(contract_count(c,
                                    "SELECT count(*) FROM symbol_files WHERE uploaded_ms = 5 AND "
                                    "index_version = 2"),
                     1);
}

int
contract_run_rebuild(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_orders),
        contract_test(test_report_waits),
        contract_test(test_maps_are_no_files),
        contract_test(test_deleted_meanwhile),
        contract_test(test_keeps_time),
        contract_test(test_outdated),
    };
    return cmocka_run_group_tests_name("rebuild", tests, NULL, NULL);
}
