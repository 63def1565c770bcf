#include "server/api/api_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "storage/store_request.h"

static const size_t SET_BYTES = 64 * 1024 * 1024;

struct api_set {
    struct fz_arena arena;
    struct store_token_known *tokens; /* by hash */
    size_t n_tokens;
    struct store_web_known *sessions; /* by hash */
    size_t n_sessions;
    struct store_user *users; /* by id, those that may log in */
    size_t n_users;
    struct store_user_role *roles; /* by user */
    size_t n_roles;
    struct store_project *projects;
    size_t n_projects;
};

static void
destroy_setp(struct api_set **set)
{
    api_set_destroy(*set);
}

void
api_set_destroy(struct api_set *set)
{
    if (!set)
        return;
    fz_arena_deinit(&set->arena);
    free(set);
}

static int
compare_tokens(const void *a, const void *b)
{
    const struct store_token_known *x = a, *y = b;
    return memcmp(x->sha256, y->sha256, sizeof(x->sha256));
}

static int
compare_sessions(const void *a, const void *b)
{
    const struct store_web_known *x = a, *y = b;
    return memcmp(x->sha256, y->sha256, sizeof(x->sha256));
}

static enum fz_code
read_users(struct api_set *set, struct store *store, struct fz_error *err)
{
    size_t n = 0;
    enum fz_code code = store_user_list(store, &set->arena, &set->users, &n, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        if (!set->users[i].is_disabled)
            set->users[set->n_users++] = set->users[i];
    }
    if (code == FZ_OK)
        code = store_user_roles(store, 0, &set->arena, &set->roles, &set->n_roles, err);
    return code;
}

enum fz_code
api_set_read(struct store *store, const struct store_web_limits *limits, struct api_set **ret,
             struct fz_error *err)
{
    FZ_CLEANUP(destroy_setp) struct api_set *set = calloc(1, sizeof(*set));
    if (!set)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    fz_arena_init(&set->arena, SET_BYTES);
    struct fz_arena *arena = &set->arena;
    enum fz_code code = store_token_known(store, arena, &set->tokens, &set->n_tokens, err);
    if (code == FZ_OK)
        code = store_project_list(store, arena, &set->projects, &set->n_projects, err);
    if (code == FZ_OK)
        code = store_web_known(store, limits, arena, &set->sessions, &set->n_sessions, err);
    if (code == FZ_OK)
        code = read_users(set, store, err);
    if (code != FZ_OK)
        return code;
    /* qsort() must not get NULL, even for no elements. */
    if (set->n_tokens)
        qsort(set->tokens, set->n_tokens, sizeof(set->tokens[0]), compare_tokens);
    if (set->n_sessions)
        qsort(set->sessions, set->n_sessions, sizeof(set->sessions[0]), compare_sessions);
    *ret = fz_take(&set);
    return FZ_OK;
}

/* ---- who it is ------------------------------------------------------------------------------ */

/* An array whose elements begin with their hash, sorted by it. Found by the start of the hash,
 * which says nothing about the secret; all of it is compared in constant time. */
static const void *
find_hash(const void *items, size_t n, size_t size, const char *sha256)
{
    enum { START = 16 };
    const char *base = items;
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memcmp(base + middle * size, sha256, START) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const void *found = NULL;
    for (size_t i = low; i < n; i++) {
        const char *hash = base + i * size;
        /* Sorted, so the rest cannot have this start. */
        if (memcmp(hash, sha256, START) != 0)
            break;
        if (fz_equal_constant_time(fz_span_cstr(hash), fz_span_cstr(sha256)))
            found = hash;
    }
    return found;
}

static const struct store_token_known *
find_token(const struct api_set *set, int64_t id)
{
    /* Sorted by hash; few requests ask for it by id. */
    for (size_t i = 0; i < set->n_tokens; i++) {
        if (set->tokens[i].id == id)
            return &set->tokens[i];
    }
    return NULL;
}

static int64_t
find_user(const struct api_set *set, const char *email)
{
    for (size_t i = 0; i < set->n_users; i++) {
        if (strcmp(set->users[i].email, email) == 0)
            return set->users[i].id;
    }
    return 0;
}

static int
compare_user(const void *id, const void *user)
{
    const int64_t *a = id;
    const struct store_user *b = user;
    return *a < b->id ? -1 : *a > b->id;
}

static bool
has_user(const struct api_set *set, int64_t id)
{
    return set->n_users &&
           bsearch(&id, set->users, set->n_users, sizeof(*set->users), compare_user) != NULL;
}

static const struct store_web_known *
find_session(const struct api_set *set, const char *cookie)
{
    char hash[FZ_SHA256_TEXT];
    fz_sha256_hex(fz_span_cstr(cookie), hash);
    return find_hash(set->sessions, set->n_sessions, sizeof(set->sessions[0]), hash);
}

/* Either a token or a user; neither: the proof is not in the set. */
static void
find_sender(const struct api_set *set, const struct api_proof *proof,
            const struct store_token_known **ret_token, int64_t *ret_user)
{
    char hash[FZ_SHA256_TEXT];
    const struct store_web_known *session = NULL;
    switch (proof->kind) {
    case API_PROOF_TOKEN:
        fz_sha256_hex(fz_span_cstr(proof->text), hash);
        *ret_token = find_hash(set->tokens, set->n_tokens, sizeof(set->tokens[0]), hash);
        break;
    case API_PROOF_SESSION:
        session = find_session(set, proof->text);
        /* Both were read one after the other: what was taken away in between counts. */
        if (session && session->token_id)
            *ret_token = find_token(set, session->token_id);
        else if (session && has_user(set, session->user_id))
            *ret_user = session->user_id;
        break;
    case API_PROOF_USER:
        *ret_user = find_user(set, proof->text);
        break;
    }
}

struct api_set_session
api_set_session(const struct api_set *set, const char *cookie)
{
    const struct store_web_known *session = find_session(set, cookie);
    struct api_set_session found = {0};
    if (session)
        found = (struct api_set_session){session->id, session->used_ms};
    return found;
}

/* ---- what it may ---------------------------------------------------------------------------- */

/* 0: no such project. */
static int64_t
find_project(const struct api_set *set, const char *name)
{
    /* Clients of Sentry know a project by its number, people by its name. */
    uint64_t number = 0;
    bool is_number = fz_text_u64(fz_span_cstr(name), &number) && number <= INT64_MAX;
    int64_t by_number = 0;
    for (size_t i = 0; i < set->n_projects; i++) {
        /* A name wins over a number: a project may be named "42". */
        if (strcmp(set->projects[i].name, name) == 0)
            return set->projects[i].id;
        if (is_number && set->projects[i].id == (int64_t)number)
            by_number = set->projects[i].id;
    }
    return by_number;
}

static enum fz_code
fail_project(const char *project, struct fz_error *err)
{
    return fz_fail(err, FZ_E_NOT_FOUND, "no project '%.64s'", project ? project : "default");
}

/* The role of the project, or of all of them if that is more. */
static enum store_role
role_of(const struct api_set *set, int64_t user, int64_t project)
{
    enum store_role role = STORE_ROLE_NONE;
    for (size_t i = 0; i < set->n_roles && set->roles[i].user_id <= user; i++) {
        const struct store_user_role *one = &set->roles[i];
        bool counts = one->project_id == 0 || one->project_id == project;
        if (one->user_id == user && counts && one->role > role)
            role = one->role;
    }
    return role;
}

/* "default" if the user has a role in it, else the first project with one. */
static int64_t
own_project(const struct api_set *set, int64_t user)
{
    int64_t project = find_project(set, "default");
    if (project && role_of(set, user, project) != STORE_ROLE_NONE)
        return project;
    for (size_t i = 0; i < set->n_projects; i++) {
        if (role_of(set, user, set->projects[i].id) != STORE_ROLE_NONE)
            return set->projects[i].id;
    }
    return 0;
}

static enum fz_code
grant_user(const struct api_set *set, int64_t user, const char *project, struct api_grant *ret,
           struct fz_error *err)
{
    int64_t asked = project ? find_project(set, project) : own_project(set, user);
    unsigned scopes = asked ? store_role_scopes(role_of(set, user, asked)) : 0;
    /* A project of others looks like one that does not exist. */
    if (!scopes)
        return fail_project(project, err);
    *ret = (struct api_grant){-user, asked, scopes};
    return FZ_OK;
}

static enum fz_code
grant_token(const struct api_set *set, const struct store_token_known *token, const char *project,
            struct api_grant *ret, struct fz_error *err)
{
    int64_t asked = token->project_id;
    /* A token without a project (an admin's) is for any of them. */
    if (project || asked == 0)
        asked = find_project(set, project ? project : "default");
    /* "default" exists from the start, and may have another name now. */
    if (!asked && !project && set->n_projects)
        asked = set->projects[0].id;
    /* A project that is not this token's looks like one that does not exist. */
    if (asked == 0 || (token->project_id != 0 && token->project_id != asked))
        return fail_project(project, err);
    *ret = (struct api_grant){token->id, asked, token->scopes};
    return FZ_OK;
}

enum fz_code
api_set_find(const struct api_set *set, const struct api_proof *proof, const char *project,
             struct api_grant *ret, struct fz_error *err)
{
    const struct store_token_known *token = NULL;
    int64_t user = 0;
    find_sender(set, proof, &token, &user);
    if (token)
        return grant_token(set, token, project, ret, err);
    if (user)
        return grant_user(set, user, project, ret, err);
    if (proof->kind == API_PROOF_SESSION)
        return fz_fail(err, FZ_E_DENIED, "the session has ended: log in again");
    if (proof->kind == API_PROOF_USER)
        return fz_fail(err, FZ_E_DENIED, "'%.100s' is not a user of this server", proof->text);
    return fz_fail(err, FZ_E_DENIED, "the token is unknown or was revoked");
}

unsigned
api_set_scopes(const struct api_set *set, int64_t sender, int64_t project_id)
{
    if (sender < 0)
        return has_user(set, -sender) ? store_role_scopes(role_of(set, -sender, project_id)) : 0;
    const struct store_token_known *token = find_token(set, sender);
    bool counts = token && (token->project_id == 0 || token->project_id == project_id);
    return counts ? token->scopes : 0;
}
