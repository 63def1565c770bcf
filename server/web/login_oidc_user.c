/* Which user somebody is who has logged in at the OpenID provider. */
#include <string.h>
#include <strings.h>

#include "server/web/login_oidc.h"
#include "storage/store.h"

bool
web_oidc_domain_allows(const char *domains, const char *email)
{
    static const char separators[] = ", ";
    const char *at = strrchr(email, '@');
    for (const char *one = domains + strspn(domains, separators); at && *one;
         one += strspn(one, separators)) {
        size_t len = strcspn(one, separators);
        /* As a whole: evil-example.com and x.example.com are not example.com. */
        if ((len == 1 && *one == '*') ||
            (strlen(at + 1) == len && strncasecmp(at + 1, one, len) == 0))
            return true;
        one += len;
    }
    return false;
}

/* The address is that of a user. */
static enum fz_code
link_user(struct api_call *call, const struct store_identity *identity,
          const struct store_user *user, int64_t *ret_user_id, enum web_oidc_reason *ret,
          struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    if (user->is_disabled) {
        *ret = WEB_OIDC_DISABLED;
        return FZ_OK;
    }
    code = store_identity_link(call->store, identity, user->id, err);
    if (code == FZ_E_CONFLICT) {
        *ret = WEB_OIDC_OTHER;
        return FZ_OK;
    }
    *ret_user_id = user->id;
    return code;
}

static enum fz_code
add_user(struct api_call *call, const struct store_identity *identity, const char *email,
         const char *name, int64_t *ret_user_id, enum web_oidc_reason *ret, struct fz_error *err)
{
    const struct api_login *login = api_login_of(call->api);
    struct store_user_role role = {0};
    bool exist = false;
    if (!web_oidc_domain_allows(login->oidc_domains, email) ||
        !store_role_parse(login->oidc_role, &role.role)) {
        *ret = WEB_OIDC_UNKNOWN;
        return FZ_OK;
    }
    enum fz_code code = store_users_exist(call->store, &exist, err);
    /* The setup link counts while there are no users: whoever may only look must not end it. */
    if (code == FZ_OK && !exist && role.role != STORE_ROLE_ADMIN) {
        *ret = WEB_OIDC_SETUP;
        return FZ_OK;
    }
    bool has_name = name && store_user_name_check(name, NULL) == FZ_OK;
    struct store_user user = {.email = email, .name = has_name ? name : email};
    if (!has_name && strlen(email) > STORE_USER_NAME_MAX)
        user.name = "?";
    if (code == FZ_OK)
        code = store_identity_add_user(call->store, identity, &user, &role, ret_user_id, err);
    /* Two logins at once: the next one finds the user. */
    if (code == FZ_E_CONFLICT) {
        *ret = WEB_OIDC_BUSY;
        return FZ_OK;
    }
    if (code == FZ_OK)
        api_senders_changed(call->api);
    return code;
}

/* No user has the identity yet. */
static enum fz_code
find_by_email(struct api_call *call, const struct oidc_identity *identity, int64_t *ret_user_id,
              enum web_oidc_reason *ret, struct fz_error *err)
{
    const struct store_identity own = {api_login_of(call->api)->oidc_issuer, identity->subject};
    char email[STORE_EMAIL_MAX + 1];
    struct store_user user = {0};
    /* Otherwise whoever may choose an address at the provider would become its owner here. */
    if (!identity->email || !identity->is_email_verified ||
        store_email_fold(identity->email, true, email, NULL) != FZ_OK) {
        *ret = WEB_OIDC_UNVERIFIED;
        return FZ_OK;
    }
    enum fz_code code = store_user_find(call->store, email, call->arena, &user, err);
    if (code == FZ_OK)
        return link_user(call, &own, &user, ret_user_id, ret, err);
    if (code == FZ_E_NOT_FOUND)
        return add_user(call, &own, email, identity->name, ret_user_id, ret, err);
    return code;
}

enum fz_code
web_oidc_find_user(struct api_call *call, const struct oidc_identity *identity,
                   int64_t *ret_user_id, enum web_oidc_reason *ret, struct fz_error *err)
{
    const struct store_identity own = {api_login_of(call->api)->oidc_issuer, identity->subject};
    struct store_user user = {0};
    *ret = WEB_OIDC_FINE;
    enum fz_code code = store_identity_find(call->store, &own, call->arena, &user, err);
    if (code == FZ_E_NOT_FOUND)
        return find_by_email(call, identity, ret_user_id, ret, err);
    if (code != FZ_OK)
        return code;
    *ret_user_id = user.id;
    if (user.is_disabled)
        *ret = WEB_OIDC_DISABLED;
    return FZ_OK;
}
