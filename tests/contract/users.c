/* Users, their links and sessions. */
#include "contract.h"

#include <stdio.h>
#include <string.h>

#include "storage/store_web_sessions.h"

static const struct store_web_limits limits = {INT64_C(14) * 24 * 3600 * 1000,
                                               INT64_C(90) * 24 * 3600 * 1000};

static int64_t
add_user(struct contract *c, const char *email, int64_t project_id, enum store_role role)
{
    const struct store_user user = {.email = email, .name = "Ann", .password = "$argon2id$x"};
    const struct store_user_role one = {.project_id = project_id, .role = role};
    int64_t id = 0;
    assert_ok(c, store_user_add(c->store, &user, &one, &id, &c->err));
    return id;
}

static int64_t
add_session(struct contract *c, int64_t user_id, int64_t token_id, char secret[STORE_SECRET_TEXT])
{
    const struct store_web_session session = {.user_id = user_id,
                                              .token_id = token_id,
                                              .via = STORE_VIA_PASSWORD,
                                              .address = "192.0.2.1",
                                              .agent = "Browser \xff 1"};
    int64_t id = 0;
    store_secret_make(secret);
    assert_ok(c, store_web_session_add(c->store, &session, &limits, secret, &id, &c->err));
    return id;
}

static bool
counts(struct contract *c, const char *secret)
{
    struct store_web_session session;
    enum fz_code code =
        store_web_session_find(c->store, &limits, secret, &c->arena, &session, &c->err);
    assert_true(code == FZ_OK || code == FZ_E_DENIED);
    return code == FZ_OK;
}

/* ---- users ---- */

static void
test_addresses(void **state)
{
    struct contract *c = *state;
    char long_one[STORE_EMAIL_MAX + 2], folded[STORE_EMAIL_MAX + 1];
    memset(long_one, 'a', sizeof(long_one));
    long_one[10] = '@';
    long_one[sizeof(long_one) - 1] = '\0';
    const struct {
        const char *email;
        bool needs_at;
        enum fz_code code;
    } cases[] = {
        {"Ann@Example.COM", true, FZ_OK},
        {"ann", true, FZ_E_MALFORMED},
        {"ann", false, FZ_OK},
        {"@x", true, FZ_E_MALFORMED},
        {"a@", true, FZ_E_MALFORMED},
        {"", false, FZ_E_MALFORMED},
        {NULL, false, FZ_E_MALFORMED},
        {"a b@x", true, FZ_E_MALFORMED},
        {"a\n@x", true, FZ_E_MALFORMED},
        {"<a@x>", true, FZ_E_MALFORMED},
        {"\xff@x", true, FZ_E_MALFORMED},
        {long_one, true, FZ_E_MALFORMED},
        {long_one + 1, true, FZ_OK},
        {"\xc3\x84nn@x", true, FZ_OK},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++)
        assert_fails(c, cases[i].code,
                     store_email_fold(cases[i].email, cases[i].needs_at, folded, &c->err));
    assert_ok(c, store_email_fold("Ann@Example.COM", true, folded, &c->err));
    assert_string_equal(folded, "ann@example.com");
    assert_ok(c, store_user_name_check("Ann", &c->err));
    assert_fails(c, FZ_E_MALFORMED, store_user_name_check("", &c->err));
    assert_fails(c, FZ_E_MALFORMED, store_user_name_check("A\x1b[1m", &c->err));
    assert_fails(c, FZ_E_MALFORMED, store_user_name_check("A\xff", &c->err));
}

static void
test_users(void **state)
{
    struct contract *c = *state;
    struct store_user user, *list;
    struct store_user_role *roles;
    size_t n = 0;
    bool exist = true;
    int64_t again = 0;
    assert_ok(c, store_users_exist(c->store, &exist, &c->err));
    assert_false(exist);
    int64_t ann = add_user(c, "ann@example.com", 0, STORE_ROLE_ADMIN);
    int64_t bob = add_user(c, "bob@example.com", c->project, STORE_ROLE_VIEWER);
    assert_ok(c, store_users_exist(c->store, &exist, &c->err));
    assert_true(exist);
    const struct store_user same = {.email = "bob@example.com", .name = "Bob"};
    assert_fails(c, FZ_E_CONFLICT, store_user_add(c->store, &same, NULL, &again, &c->err));
    assert_ok(c, store_user_find(c->store, "bob@example.com", &c->arena, &user, &c->err));
    assert_int_equal(user.id, bob);
    assert_string_equal(user.password, "$argon2id$x");
    assert_int_equal(user.login_ms, 0);
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_user_find(c->store, "Bob@example.com", &c->arena, &user, &c->err));
    assert_ok(c, store_user_list(c->store, &c->arena, &list, &n, &c->err));
    assert_int_equal(n, 2);
    assert_int_equal(list[0].id, ann);
    const struct store_user_role more[] = {{0, c->other, STORE_ROLE_MEMBER},
                                           {0, c->project, STORE_ROLE_NONE}};
    const struct store_user_change change = {.name = "Robert", .roles = more, .n_roles = 2};
    assert_ok(c, store_user_change(c->store, bob, &change, &c->err));
    assert_ok(c, store_user_by_id(c->store, bob, &c->arena, &user, &c->err));
    assert_string_equal(user.name, "Robert");
    assert_ok(c, store_user_roles(c->store, bob, &c->arena, &roles, &n, &c->err));
    assert_int_equal(n, 1);
    assert_int_equal(roles[0].project_id, c->other);
    assert_int_equal(roles[0].role, STORE_ROLE_MEMBER);
    assert_ok(c, store_user_roles(c->store, 0, &c->arena, &roles, &n, &c->err));
    assert_int_equal(n, 2);
    assert_fails(c, FZ_E_NOT_FOUND, store_user_change(c->store, 4711, &change, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND, store_user_delete(c->store, 4711, &c->err));
    assert_ok(c, store_user_delete(c->store, bob, &c->err));
    assert_ok(c, store_user_roles(c->store, 0, &c->arena, &roles, &n, &c->err));
    assert_int_equal(n, 1);
}

/* Whatever is done, there stays one who may log in and is admin of all projects. */
static void
test_last_admin(void **state)
{
    struct contract *c = *state;
    static const bool yes = true, no = false;
    int64_t ann = add_user(c, "ann@example.com", 0, STORE_ROLE_ADMIN);
    int64_t bob = add_user(c, "bob@example.com", c->project, STORE_ROLE_ADMIN);
    const struct store_user_role none = {.role = STORE_ROLE_NONE},
                                 less = {.role = STORE_ROLE_MEMBER},
                                 admin = {.role = STORE_ROLE_ADMIN};
    const struct store_user_change off = {.disabled = &yes}, on = {.disabled = &no},
                                   remove = {.roles = &none, .n_roles = 1},
                                   lower = {.roles = &less, .n_roles = 1},
                                   raise = {.roles = &admin, .n_roles = 1};
    assert_fails(c, FZ_E_CONFLICT, store_user_change(c->store, ann, &off, &c->err));
    assert_fails(c, FZ_E_CONFLICT, store_user_change(c->store, ann, &remove, &c->err));
    assert_fails(c, FZ_E_CONFLICT, store_user_change(c->store, ann, &lower, &c->err));
    assert_fails(c, FZ_E_CONFLICT, store_user_delete(c->store, ann, &c->err));
    assert_ok(c, store_user_change(c->store, bob, &off, &c->err));
    assert_ok(c, store_user_change(c->store, bob, &raise, &c->err));
    assert_fails(c, FZ_E_CONFLICT, store_user_delete(c->store, ann, &c->err)); /* Bob is disabled */
    assert_ok(c, store_user_change(c->store, bob, &on, &c->err));
    assert_ok(c, store_user_delete(c->store, ann, &c->err));
    assert_fails(c, FZ_E_CONFLICT, store_user_delete(c->store, bob, &c->err));
}

/* ---- links ---- */

static void
test_setup_link(void **state)
{
    struct contract *c = *state;
    static const struct store_link link = {.kind = STORE_LINK_SETUP};
    const struct store_user user = {
        .email = "ann@example.com", .name = "Ann", .password = "$argon2id$1"};
    char first[STORE_SECRET_TEXT], second[STORE_SECRET_TEXT];
    struct store_link found;
    struct store_user_role *roles;
    int64_t expires = 0, id = 0;
    size_t n = 0;
    store_secret_make(first);
    store_secret_make(second);
    assert_int_equal(strlen(first), STORE_SECRET_TEXT - 1);
    assert_string_not_equal(first, second);
    assert_ok(c, store_link_add(c->store, &link, first, &expires, &c->err));
    assert_true(expires > 1600000000000);
    /* A new one takes the place of the first. */
    assert_ok(c, store_link_add(c->store, &link, second, &expires, &c->err));
    assert_fails(c, FZ_E_DENIED,
                 store_link_check(c->store, STORE_LINK_SETUP, first, &c->arena, &found, &c->err));
    assert_fails(
        c, FZ_E_DENIED,
        store_link_check(c->store, STORE_LINK_INVITATION, second, &c->arena, &found, &c->err));
    assert_ok(c, store_link_check(c->store, STORE_LINK_SETUP, second, &c->arena, &found, &c->err));
    contract_sql(c, "UPDATE user_links SET expires_ms = 1", "UPDATE user_links SET expires_ms = 1");
    assert_fails(c, FZ_E_DENIED,
                 store_link_use(c->store, STORE_LINK_SETUP, second, &user, &id, &c->err));
    assert_ok(c, store_link_add(c->store, &link, first, &expires, &c->err));
    assert_ok(c, store_link_use(c->store, STORE_LINK_SETUP, first, &user, &id, &c->err));
    assert_ok(c, store_user_roles(c->store, id, &c->arena, &roles, &n, &c->err));
    assert_int_equal(n, 1);
    assert_int_equal(roles[0].project_id, 0);
    assert_int_equal(roles[0].role, STORE_ROLE_ADMIN);
    assert_fails(c, FZ_E_DENIED,
                 store_link_use(c->store, STORE_LINK_SETUP, first, &user, &id, &c->err));
    /* There is a user: another such link does not count. */
    assert_ok(c, store_link_add(c->store, &link, second, &expires, &c->err));
    assert_fails(c, FZ_E_DENIED,
                 store_link_check(c->store, STORE_LINK_SETUP, second, &c->arena, &found, &c->err));
}

static void
test_invitation_and_reset(void **state)
{
    struct contract *c = *state;
    const struct store_link invitation = {.kind = STORE_LINK_INVITATION,
                                          .email = "bob@example.com",
                                          .project_id = c->project,
                                          .role = STORE_ROLE_MEMBER};
    /* The address of an invitation is the one that was invited. */
    const struct store_user bob = {
        .email = "eve@example.com", .name = "Bob", .password = "$argon2id$1"};
    const struct store_user again = {.password = "$argon2id$2"};
    char secret[STORE_SECRET_TEXT], cookie[STORE_SECRET_TEXT];
    struct store_link found;
    struct store_user user;
    struct store_user_role *roles;
    int64_t id = 0, reset_id = 0;
    size_t n = 0;
    store_secret_make(secret);
    assert_ok(c, store_link_add(c->store, &invitation, secret, NULL, &c->err));
    assert_ok(
        c, store_link_check(c->store, STORE_LINK_INVITATION, secret, &c->arena, &found, &c->err));
    assert_string_equal(found.email, "bob@example.com");
    assert_ok(c, store_link_use(c->store, STORE_LINK_INVITATION, secret, &bob, &id, &c->err));
    assert_ok(c, store_user_by_id(c->store, id, &c->arena, &user, &c->err));
    assert_string_equal(user.email, "bob@example.com");
    assert_ok(c, store_user_roles(c->store, id, &c->arena, &roles, &n, &c->err));
    assert_int_equal(n, 1);
    assert_int_equal(roles[0].role, STORE_ROLE_MEMBER);
    assert_fails(c, FZ_E_DENIED,
                 store_link_use(c->store, STORE_LINK_INVITATION, secret, &bob, &id, &c->err));
    /* Made a user in another way meanwhile: nothing changes, and the link may be tried again. */
    assert_ok(c, store_link_add(c->store, &invitation, secret, NULL, &c->err));
    assert_fails(c, FZ_E_CONFLICT,
                 store_link_use(c->store, STORE_LINK_INVITATION, secret, &bob, &id, &c->err));
    const struct store_link reset = {.kind = STORE_LINK_RESET, .user_id = id};
    store_secret_make(secret);
    add_session(c, id, 0, cookie);
    assert_ok(c, store_link_add(c->store, &reset, secret, NULL, &c->err));
    assert_ok(c, store_link_check(c->store, STORE_LINK_RESET, secret, &c->arena, &found, &c->err));
    assert_string_equal(found.email, "bob@example.com");
    assert_ok(c, store_link_use(c->store, STORE_LINK_RESET, secret, &again, &reset_id, &c->err));
    assert_int_equal(reset_id, id);
    assert_ok(c, store_user_by_id(c->store, id, &c->arena, &user, &c->err));
    assert_string_equal(user.password, "$argon2id$2");
    assert_false(counts(c, cookie));
    assert_fails(c, FZ_E_DENIED,
                 store_link_use(c->store, STORE_LINK_RESET, secret, &again, &reset_id, &c->err));
}

static int
use_setup(struct contract *c, int i, void *user)
{
    const char *secret = user;
    char email[32];
    int64_t id;
    snprintf(email, sizeof(email), "user%d@example.com", i);
    const struct store_user one = {.email = email, .name = "U", .password = "$argon2id$1"};
    enum fz_code code = store_link_use(c->store, STORE_LINK_SETUP, secret, &one, &id, &c->err);
    return code != FZ_OK && code != FZ_E_DENIED && code != FZ_E_CONFLICT;
}

/* Several at once with one link: one of them is the first user. */
static void
test_one_first_user(void **state)
{
    struct contract *c = *state;
    static const struct store_link link = {.kind = STORE_LINK_SETUP};
    char secret[STORE_SECRET_TEXT];
    struct store_user *list;
    size_t n = 0;
    store_secret_make(secret);
    assert_ok(c, store_link_add(c->store, &link, secret, NULL, &c->err));
    contract_fork(c, 8, use_setup, secret);
    assert_ok(c, store_user_list(c->store, &c->arena, &list, &n, &c->err));
    assert_int_equal(n, 1);
}

/* ---- sessions ---- */

static size_t
n_known(struct contract *c)
{
    struct store_web_known *known;
    size_t n = 0;
    assert_ok(c, store_web_known(c->store, &limits, &c->arena, &known, &n, &c->err));
    return n;
}

static void
test_sessions(void **state)
{
    struct contract *c = *state;
    static const bool yes = true;
    const struct store_user_change off = {.disabled = &yes};
    char one[STORE_SECRET_TEXT], two[STORE_SECRET_TEXT], pasted[STORE_SECRET_TEXT];
    char token[STORE_TOKEN_TEXT];
    struct store_web_session session, *list;
    struct store_user user;
    int64_t token_id = 0;
    size_t n = 0;
    int64_t ann = add_user(c, "ann@example.com", 0, STORE_ROLE_ADMIN);
    int64_t bob = add_user(c, "bob@example.com", c->project, STORE_ROLE_VIEWER);
    assert_ok(c, store_token_create(c->store, c->project, STORE_SCOPE_READ, "t", token, &token_id,
                                    &c->err));
    int64_t first = add_session(c, bob, 0, one), second = add_session(c, bob, 0, two);
    add_session(c, 0, token_id, pasted);
    assert_int_equal(n_known(c), 3);
    assert_ok(c, store_user_by_id(c->store, bob, &c->arena, &user, &c->err));
    assert_true(user.login_ms > 1600000000000);
    assert_ok(c, store_web_session_find(c->store, &limits, one, &c->arena, &session, &c->err));
    assert_int_equal(session.id, first);
    assert_int_equal(session.user_id, bob);
    assert_string_equal(session.address, "192.0.2.1");
    assert_string_equal(session.agent, "Browser \xef\xbf\xbd 1");
    assert_ok(c, store_web_session_list(c->store, &limits, bob, &c->arena, &list, &n, &c->err));
    assert_int_equal(n, 2);
    assert_int_equal(list[0].id, second);
    /* Nobody ends the session of another. */
    assert_fails(c, FZ_E_NOT_FOUND, store_web_session_end(c->store, ann, first, &c->err));
    assert_ok(c, store_web_session_end(c->store, bob, first, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND, store_web_session_end(c->store, bob, first, &c->err));
    assert_false(counts(c, one));
    assert_true(counts(c, two));
    /* Another password ends all but the one that was used to set it. */
    int64_t third = add_session(c, bob, 0, one);
    assert_ok(c, store_user_set_password(c->store, bob, "$argon2id$2", third, &c->err));
    assert_false(counts(c, two));
    assert_true(counts(c, one));
    assert_ok(c, store_user_change(c->store, bob, &off, &c->err));
    assert_false(counts(c, one));
    assert_true(counts(c, pasted));
    assert_ok(c, store_token_revoke(c->store, token_id, &c->err));
    assert_false(counts(c, pasted));
    assert_int_equal(n_known(c), 0);
    assert_ok(c, store_user_delete(c->store, bob, &c->err));
}

static void
test_session_times(void **state)
{
    struct contract *c = *state;
    char one[STORE_SECRET_TEXT], two[STORE_SECRET_TEXT];
    struct store_web_session session;
    int64_t ann = add_user(c, "ann@example.com", 0, STORE_ROLE_ADMIN);
    int64_t id = add_session(c, ann, 0, one);
    assert_ok(c, store_web_session_touch(c->store, id, &c->err));
    assert_ok(c, store_web_session_find(c->store, &limits, one, &c->arena, &session, &c->err));
    assert_int_equal(session.used_ms, session.created_ms); /* not within a minute */
    contract_sql(c, "UPDATE web_sessions SET used_ms = used_ms - 61000",
                 "UPDATE web_sessions SET used_ms = used_ms - 61000");
    assert_ok(c, store_web_session_touch(c->store, id, &c->err));
    assert_ok(c, store_web_session_find(c->store, &limits, one, &c->arena, &session, &c->err));
    assert_true(session.used_ms >= session.created_ms);
    /* 14 days without use, less a minute, and more. */
    contract_sql(c, "UPDATE web_sessions SET used_ms = used_ms - 1209540000",
                 "UPDATE web_sessions SET used_ms = used_ms - 1209540000");
    assert_true(counts(c, one));
    contract_sql(c, "UPDATE web_sessions SET used_ms = used_ms - 120000",
                 "UPDATE web_sessions SET used_ms = used_ms - 120000");
    assert_false(counts(c, one));
    assert_int_equal(n_known(c), 0);
    /* 90 days in all, even in use. */
    add_session(c, ann, 0, two);
    assert_false(counts(c, one)); /* cleared away by then */
    contract_sql(c, "UPDATE web_sessions SET created_ms = created_ms - 7775940000",
                 "UPDATE web_sessions SET created_ms = created_ms - 7775940000");
    assert_true(counts(c, two));
    contract_sql(c, "UPDATE web_sessions SET created_ms = created_ms - 120000",
                 "UPDATE web_sessions SET created_ms = created_ms - 120000");
    assert_false(counts(c, two));
}

static void
test_many_sessions(void **state)
{
    struct contract *c = *state;
    char first[STORE_SECRET_TEXT], last[STORE_SECRET_TEXT], other[STORE_SECRET_TEXT];
    int64_t ann = add_user(c, "ann@example.com", 0, STORE_ROLE_ADMIN);
    int64_t bob = add_user(c, "bob@example.com", 0, STORE_ROLE_ADMIN);
    add_session(c, bob, 0, other);
    add_session(c, ann, 0, first);
    for (int i = 0; i < STORE_WEB_SESSIONS_MAX; i++)
        add_session(c, ann, 0, last);
    assert_int_equal(n_known(c), STORE_WEB_SESSIONS_MAX + 1);
    assert_false(counts(c, first));
    assert_true(counts(c, last));
    assert_true(counts(c, other));
}

static void
test_identities(void **state)
{
    struct contract *c = *state;
    static const struct store_identity one = {"https://id.example.com", "1"},
                                       two = {"https://id.example.com", "2"},
                                       elsewhere = {"https://other.example.com", "1"};
    static const struct store_user cat = {.email = "cat@example.com", .name = "Cat"};
    static const struct store_user_role viewer = {.role = STORE_ROLE_VIEWER};
    struct store_user user;
    int64_t id = 0, ann = add_user(c, "ann@example.com", 0, STORE_ROLE_ADMIN);
    int64_t bob = add_user(c, "bob@example.com", 0, STORE_ROLE_VIEWER);
    assert_fails(c, FZ_E_NOT_FOUND, store_identity_find(c->store, &one, &c->arena, &user, &c->err));
    assert_ok(c, store_identity_link(c->store, &one, ann, &c->err));
    assert_ok(c, store_identity_link(c->store, &one, ann, &c->err)); /* of two logins at once */
    assert_ok(c, store_identity_find(c->store, &one, &c->arena, &user, &c->err));
    assert_int_equal(user.id, ann);
    /* Neither two users with one identity, nor two identities of one issuer for a user. */
    assert_fails(c, FZ_E_CONFLICT, store_identity_link(c->store, &one, bob, &c->err));
    assert_fails(c, FZ_E_CONFLICT, store_identity_link(c->store, &two, ann, &c->err));
    assert_ok(c, store_identity_link(c->store, &elsewhere, ann, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND, store_identity_link(c->store, &two, 4711, &c->err));
    /* A new user appears with the identity or not at all. */
    assert_fails(c, FZ_E_CONFLICT,
                 store_identity_add_user(c->store, &one, &cat, &viewer, &id, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_user_find(c->store, cat.email, &c->arena, &user, &c->err));
    assert_ok(c, store_identity_add_user(c->store, &two, &cat, &viewer, &id, &c->err));
    assert_ok(c, store_identity_find(c->store, &two, &c->arena, &user, &c->err));
    assert_string_equal(user.email, cat.email);
    /* Listed for one user and for all. */
    struct store_user_identity *list = NULL;
    size_t n = 0;
    assert_ok(c, store_identity_list(c->store, ann, &c->arena, &list, &n, &c->err));
    assert_int_equal(n, 2);
    assert_string_equal(list[0].issuer, one.issuer);
    assert_string_equal(list[0].subject, one.subject);
    assert_true(list[0].created_ms > 0);
    assert_ok(c, store_identity_list(c->store, 0, &c->arena, &list, &n, &c->err));
    assert_int_equal(n, 3);
    assert_int_equal(list[2].user_id, id);
    /* They go with their user. */
    assert_ok(c, store_user_delete(c->store, id, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND, store_identity_find(c->store, &two, &c->arena, &user, &c->err));
    assert_ok(c, store_identity_link(c->store, &two, bob, &c->err));
    /* Without hers, another one can be Ann's; what is Bob's stays. */
    assert_ok(c, store_identity_unlink(c->store, ann, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND, store_identity_unlink(c->store, ann, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND, store_identity_unlink(c->store, 4711, &c->err));
    assert_ok(c, store_identity_find(c->store, &two, &c->arena, &user, &c->err));
    assert_ok(c, store_user_delete(c->store, bob, &c->err));
    assert_ok(c, store_identity_link(c->store, &two, ann, &c->err));
}

int
contract_run_users(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_addresses),
        contract_test(test_users),
        contract_test(test_last_admin),
        contract_test(test_setup_link),
        contract_test(test_invitation_and_reset),
        contract_test(test_one_first_user),
        contract_test(test_sessions),
        contract_test(test_session_times),
        contract_test(test_many_sessions),
        contract_test(test_identities),
    };
    return cmocka_run_group_tests_name("users", tests, NULL, NULL);
}
