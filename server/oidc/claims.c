/*
 * {"iss":"https://id.example.com","sub":"248289","aud":"framezero","nonce":"…","exp":1311281970,
 *  "iat":1311280970,"email":"ann@example.com","email_verified":true,"name":"Ann"}
 */
#include "server/oidc/claims.h"

#include "base/digest.h"

/* A token is used seconds after it was made. */
enum { AGE_MAX_S = 15 * 60, AUDIENCES_MAX = 64 };

static bool
is_text(const json_t *value, const char *text)
{
    const char *is = json_string_value(value);
    return is && strcmp(is, text) == 0;
}

/* Whole seconds; some providers write fractions. */
static bool
read_time(const json_t *claims, const char *name, double *ret)
{
    const json_t *value = json_object_get(claims, name);
    if (!json_is_number(value))
        return false;
    *ret = json_number_value(value);
    return true;
}

static enum fz_code
check_audience(const json_t *claims, const char *client_id, struct fz_error *err)
{
    const json_t *audience = json_object_get(claims, "aud"),
                 *party = json_object_get(claims, "azp");
    size_t n = json_array_size(audience);
    bool is_ours = is_text(audience, client_id);
    for (size_t i = 0; i < n && i < AUDIENCES_MAX; i++)
        is_ours = is_ours || is_text(json_array_get(audience, i), client_id);
    if (!is_ours)
        return fz_fail(err, FZ_E_DENIED, "aud: the token is for another client");
    if (n > 1 && !party)
        return fz_fail(err, FZ_E_DENIED, "azp: the token is for several clients, and names none");
    if (party && !is_text(party, client_id))
        return fz_fail(err, FZ_E_DENIED, "azp: the token was given to another client");
    return FZ_OK;
}

static enum fz_code
check_times(const json_t *claims, int64_t now_s, struct fz_error *err)
{
    const double skew = (double)OIDC_SKEW_S, age_max = (double)AGE_MAX_S;
    double now = (double)now_s, expires = 0, issued = 0, begins = 0;
    if (!read_time(claims, "exp", &expires) || !read_time(claims, "iat", &issued))
        return fz_fail(err, FZ_E_DENIED, "the token does not say when it was made and expires");
    if (!(expires + skew > now))
        return fz_fail(err, FZ_E_DENIED, "exp: the token expired %.0f s ago", now - expires);
    if (!(issued - skew <= now))
        return fz_fail(err, FZ_E_DENIED,
                       "iat: the token was made %.0f s from now: the clocks differ", issued - now);
    if (!(issued + age_max + skew > now))
        return fz_fail(err, FZ_E_DENIED, "iat: the token was made %.0f s ago", now - issued);
    if (json_object_get(claims, "nbf") &&
        (!read_time(claims, "nbf", &begins) || !(begins - skew <= now)))
        return fz_fail(err, FZ_E_DENIED, "nbf: the token does not count yet");
    return FZ_OK;
}

/* A text of 1 to `max` bytes; NULL: it is not. */
static const char *
text_of(const json_t *claims, const char *name, size_t max, struct fz_arena *arena)
{
    const json_t *value = json_object_get(claims, name);
    size_t len = json_string_length(value);
    return len && len <= max ? fz_arena_strdup(arena, json_string_value(value)) : NULL;
}

static void
read_person(const json_t *claims, struct fz_arena *arena, struct oidc_identity *identity)
{
    static const char *const names[] = {"name", "preferred_username", "nickname"};
    const json_t *verified = json_object_get(claims, "email_verified");
    if (!identity->email) {
        identity->email = text_of(claims, "email", OIDC_TEXT_MAX, arena);
        /* Some providers write it as a text. */
        identity->is_email_verified =
            identity->email && (json_is_true(verified) || is_text(verified, "true"));
    }
    for (size_t i = 0; i < FZ_ARRAY_LEN(names) && !identity->name; i++)
        identity->name = text_of(claims, names[i], OIDC_TEXT_MAX, arena);
}

enum fz_code
oidc_claims_check(const json_t *claims, const struct oidc_expected *expected,
                  struct fz_arena *arena, struct oidc_identity *ret, struct fz_error *err)
{
    const json_t *nonce = json_object_get(claims, "nonce");
    struct oidc_identity identity = {0};
    if (!is_text(json_object_get(claims, "iss"), expected->issuer))
        return fz_fail(err, FZ_E_DENIED, "iss: the token is of another issuer");
    enum fz_code code = check_audience(claims, expected->client_id, err);
    if (code == FZ_OK)
        code = check_times(claims, expected->now_s, err);
    if (code != FZ_OK)
        return code;
    if (!fz_equal_constant_time(fz_span_cstr(json_string_value(nonce)),
                                fz_span_cstr(expected->nonce)))
        return fz_fail(err, FZ_E_DENIED, "nonce: the token is of another login");
    identity.subject = text_of(claims, "sub", OIDC_TEXT_MAX, arena);
    if (!identity.subject)
        return fz_fail(err, FZ_E_DENIED, "sub: the token does not say whose it is");
    read_person(claims, arena, &identity);
    *ret = identity;
    return FZ_OK;
}

enum fz_code
oidc_claims_add(const json_t *info, struct fz_arena *arena, struct oidc_identity *identity,
                struct fz_error *err)
{
    if (!is_text(json_object_get(info, "sub"), identity->subject))
        return fz_fail(err, FZ_E_DENIED, "sub: the provider's answer is of another user");
    read_person(info, arena, identity);
    return FZ_OK;
}
