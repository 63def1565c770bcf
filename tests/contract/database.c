/* A database of its own for each test: a new file for SQLite, a copy of a template for PostgreSQL. */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/sql/sql.h"
#include "storage/store_private.h"

static const char *postgresql_url; /* NULL = SQLite */
static const char *pooler;         /* of a URL, what follows the database; NULL = none */
static int n_databases;
static struct sql *cluster; /* kept: PostgreSQL starts a process for each connection */
/* How each test's database is made; "" = there is no template yet. */
static char copy_of_template[96];

bool
contract_use_postgresql(bool is_pooled)
{
    if (is_pooled) {
        pooler = getenv("FRAMEZERO_TEST_PGBOUNCER");
        if (!pooler) {
            puts("FRAMEZERO_TEST_PGBOUNCER is not set (run under with_pgbouncer.sh): skipped");
            return false;
        }
    }
    postgresql_url = getenv("FRAMEZERO_TEST_POSTGRESQL");
    if (!postgresql_url)
        puts("FRAMEZERO_TEST_POSTGRESQL is not set (run under with_postgresql.sh): skipped");
    return postgresql_url;
}

/* Without the pooler, which keeps connections and takes no option that names a schema. */
static void
direct_url(const char *database, char ret[512])
{
    const char *options = strchr(postgresql_url, '?');
    snprintf(ret, 512, "postgresql://framezero@/%s%s%s", database, options ? options : "?",
             pooler ? "" : "&options=-csearch_path%3Dframezero");
}

static void
run_script(struct contract *c, const char *url, const char *text)
{
    struct sql *sql = NULL;
    assert_ok(c, sql_open(url, false, &sql, &c->err));
    assert_ok(c, sql_script(sql, text, &c->err));
    sql_close(sql);
}

static void
do_with_database(struct contract *c, const char *what, const char *name, const char *how)
{
    char text[160];
    if (!cluster)
        assert_ok(c, sql_open(postgresql_url, false, &cluster, &c->err));
    snprintf(text, sizeof(text), "%s DATABASE %s %s", what, name, how);
    assert_ok(c, sql_script(cluster, text, &c->err));
}

/* A copy costs less than 40 migrations, and no test finds catalogs that are full of what those before it have left. */
static void
make_template(struct contract *c)
{
    char url[512], template[32];
    unsigned n;
    int64_t version = 0;
    snprintf(template, sizeof(template), "t%d", (int)getpid());
    do_with_database(c, "CREATE", template, "");
    direct_url(template, url);
    if (!pooler)
        run_script(c, url, "CREATE SCHEMA framezero");
    assert_ok(c, store_migrate(url, &n, &c->err));
    /* Another program's tables have the same names: a query of the catalogs that does not say which schema finds them. */
    if (!pooler)
        run_script(c, url,
                   "DO $$ DECLARE name text; BEGIN FOR name IN SELECT relname FROM pg_class WHERE "
                   "relnamespace = 'framezero'::regnamespace AND relkind IN ('r', 'p') LOOP "
                   "EXECUTE format('CREATE TABLE public.%I (other int)', name); END LOOP; END $$");
    assert_ok(c, sql_number(cluster, "SELECT CAST(current_setting('server_version_num') AS bigint)",
                            NULL, 0, &version, NULL, &c->err));
    /* Versions before 15 have no other strategy. */
    snprintf(copy_of_template, sizeof(copy_of_template), "TEMPLATE %s%s", template,
             version < 150000 ? "" : " STRATEGY FILE_COPY");
}

int
contract_setup(void **state)
{
    struct contract *c = calloc(1, sizeof(*c));
    assert_non_null(c);
    fz_arena_init(&c->arena, 256 * 1024 * 1024);
    snprintf(c->dir, sizeof(c->dir), "/tmp/fzcontract.XXXXXX");
    assert_non_null(mkdtemp(c->dir));
    if (postgresql_url) {
        if (!copy_of_template[0])
            make_template(c);
        snprintf(c->database, sizeof(c->database), "t%d_%d", (int)getpid(), n_databases++);
        do_with_database(c, "CREATE", c->database, copy_of_template);
        direct_url(c->database, c->url);
        if (pooler)
            snprintf(c->url, sizeof(c->url), "postgresql://framezero@/%s?%s", c->database, pooler);
    } else {
        unsigned n;
        snprintf(c->url, sizeof(c->url), "sqlite:%s/framezero.db", c->dir);
        assert_ok(c, store_migrate(c->url, &n, &c->err));
    }
    c->store = contract_open(c);
    assert_ok(c, store_project_create(c->store, "default", &c->project, &c->err));
    assert_ok(c, store_project_create(c->store, "other", &c->other, &c->err));
    *state = c;
    return 0;
}

int
contract_teardown(void **state)
{
    struct contract *c = *state;
    char command[128];
    store_close(c->store);
    if (c->database[0])
        /* With the connections that a pooler still has to it. */
        do_with_database(c, "DROP", c->database, "WITH (FORCE)");
    fz_arena_deinit(&c->arena);
    snprintf(command, sizeof(command), "rm -rf %s", c->dir);
    int failed = system(command);
    free(c);
    return failed;
}

struct store *
contract_open(struct contract *c)
{
    struct store *store = NULL;
    assert_ok(c, store_open(c->url, &store, &c->err));
    assert_ok(c, store_set_columns(store, &report_columns, &c->err));
    return store;
}

void
contract_sql(struct contract *c, const char *sqlite, const char *postgresql)
{
    struct sql *sql = NULL;
    char direct[512];
    /* Beside the pooler, which may keep a connection through whatever the script does to all others. */
    if (pooler)
        direct_url(c->database, direct);
    assert_ok(c, sql_open(pooler ? direct : c->url, false, &sql, &c->err));
    assert_ok(c, sql_script(sql, postgresql_url ? postgresql : sqlite, &c->err));
    sql_close(sql);
}
