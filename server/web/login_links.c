/* Links that let somebody in once: the first user, an invited one, one who has lost the password. */
#include <stdlib.h>
#include <string.h>

#include "server/web/login.h"

/* Places of struct web_wait's texts. */
enum { SECRET, NAME, EMAIL };

static const struct {
    enum store_link_kind kind;
    int status; /* of the answer */
    bool has_name, has_email;
} kinds[] = {
    {STORE_LINK_SETUP, 201, true, true},
    {STORE_LINK_INVITATION, 201, true, false},
    {STORE_LINK_RESET, 200, false, false},
};

/* The user is there now, and is logged in. */
static enum fz_code
finish(struct api_call *call, struct fz_error *err)
{
    const struct web_wait *wait = call->user;
    size_t i = (size_t)wait->number;
    const struct store_user user = {
        .email = wait->text[EMAIL], .name = wait->text[NAME], .password = wait->job.hash};
    struct store_web_session session = {.via = STORE_VIA_PASSWORD};
    if (wait->job.code != FZ_OK)
        return fz_fail(err, wait->job.code, "no memory for the password");
    enum fz_code code = store_link_use(call->store, kinds[i].kind, wait->text[SECRET], &user,
                                       &session.user_id, err);
    const struct api_login *login = api_login_of(call->api);
    if (code == FZ_OK && kinds[i].kind == STORE_LINK_SETUP && login->on_setup)
        login->on_setup(login->on_setup_user);
    /* Of a reset for a disabled user, the password counts, but not yet for a login. */
    return code == FZ_OK ? web_begin_session(call, &session, kinds[i].status, err) : code;
}

struct asked {
    const char *secret, *name, *email, *password;
    char folded[STORE_EMAIL_MAX + 1];
};

static enum fz_code
read_asked(struct api_call *call, const json_t *root, size_t i, struct asked *ret,
           struct fz_error *err)
{
    enum fz_code code =
        web_read_text(call, root, "token", STORE_SECRET_TEXT - 1, &ret->secret, err);
    if (code == FZ_OK)
        code = web_read_text(call, root, "password", WEB_PASSWORD_MAX, &ret->password, err);
    if (code == FZ_OK && kinds[i].has_name) {
        code = web_read_text(call, root, "name", STORE_USER_NAME_MAX, &ret->name, err);
        if (code == FZ_OK && (code = store_user_name_check(ret->name, err)) != FZ_OK)
            web_blame(call, "name");
    }
    if (code == FZ_OK && kinds[i].has_email) {
        code = web_read_text(call, root, "email", STORE_EMAIL_MAX, &ret->email, err);
        if (code == FZ_OK && (code = store_email_fold(ret->email, true, ret->folded, err)) != FZ_OK)
            web_blame(call, "email");
        ret->email = ret->folded;
    }
    return code;
}

/* Before anything is hashed: a link that does not count costs next to nothing. */
static enum fz_code
check_link(struct api_call *call, size_t i, struct asked *asked, struct fz_error *err)
{
    struct store_link link = {0};
    enum fz_code code =
        store_link_check(call->store, kinds[i].kind, asked->secret, call->arena, &link, err);
    if (code == FZ_OK && !asked->email)
        asked->email = link.email;
    if (code == FZ_OK) {
        code = web_password_check(asked->password, asked->email, asked->name, err);
        if (code != FZ_OK)
            web_blame(call, "password");
    }
    return code;
}

static enum fz_code
wait_for_hash(struct api_call *call, size_t i, const struct asked *asked, struct fz_error *err)
{
    struct web_wait *wait = web_wait_create(call, finish);
    if (!wait)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    wait->number = (int64_t)i;
    wait->text[SECRET] = strdup(asked->secret);
    wait->text[NAME] = strdup(asked->name ? asked->name : "");
    wait->text[EMAIL] = strdup(asked->email ? asked->email : "");
    wait->job.new_password = web_password_copy(asked->password);
    if (wait->text[SECRET] && wait->text[NAME] && wait->text[EMAIL] && wait->job.new_password)
        return web_wait_push(call, wait, err);
    web_wait_destroy(wait);
    return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
}

static enum fz_code
use_link(struct api_call *call, enum store_link_kind kind, struct fz_error *err)
{
    struct asked asked = {0};
    json_auto_t *root = NULL;
    size_t i = 0;
    while (kinds[i].kind != kind)
        i++;
    enum fz_code code = api_check_origin(call->api, call->request, false, err);
    if (code == FZ_OK)
        code = web_read(call, &root, err);
    if (code == FZ_OK)
        code = read_asked(call, root, i, &asked, err);
    if (code == FZ_OK)
        code = check_link(call, i, &asked, err);
    return code == FZ_OK ? wait_for_hash(call, i, &asked, err) : code;
}

static enum fz_code
setup_post(struct api_call *call, struct fz_error *err)
{
    return use_link(call, STORE_LINK_SETUP, err);
}

static enum fz_code
invitation_accept(struct api_call *call, struct fz_error *err)
{
    return use_link(call, STORE_LINK_INVITATION, err);
}

static enum fz_code
reset_post(struct api_call *call, struct fz_error *err)
{
    return use_link(call, STORE_LINK_RESET, err);
}

/* clang-format off */
static const struct api_route rows[] = {
    {"POST", "/api/v1/setup", "setup_post", .body = API_BODY_LOGIN, .run = setup_post, .query = ""},
    {"POST", "/api/v1/invitations/accept", "invitation_accept", .body = API_BODY_LOGIN, .run = invitation_accept, .query = ""},
    {"POST", "/api/v1/reset", "reset_post", .body = API_BODY_LOGIN, .run = reset_post, .query = ""},
};
/* clang-format on */

const struct api_routes web_links = {rows, FZ_ARRAY_LEN(rows), {.sees_all = web_sees_all}};
