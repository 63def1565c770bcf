/* What a provider sends: the first byte says whether it is a token, keys, or its description. What is
 * accepted is what the rest of the code relies on. */
#include <stdlib.h>
#include <strings.h>

#include "server/oidc/claims.h"
#include "server/oidc/keys.h"
#include "server/oidc/provider.h"

static void
check_token(struct fz_span text)
{
    static const struct oidc_expected expected = {"https://id.example.com", "framezero", "n", 1000};
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
    FZ_CLEANUP(oidc_token_deinit) struct oidc_token token = {0};
    struct oidc_identity identity;
    if (oidc_token_parse(text, &arena, &token, NULL) != FZ_OK)
        return;
    if (token.content.len >= text.len || token.content.data != text.data ||
        !json_is_object(token.claims) ||
        (token.algorithm != OIDC_RS256 && token.algorithm != OIDC_ES256))
        abort();
    if (oidc_claims_check(token.claims, &expected, &arena, &identity, NULL) == FZ_OK &&
        (!*identity.subject || (identity.is_email_verified && !identity.email)))
        abort();
}

static void
check_keys(struct fz_span text)
{
    static const uint8_t some[64] = {1};
    FZ_CLEANUP(oidc_keys_destroyp) struct oidc_keys *keys = NULL;
    if (oidc_keys_parse(text, &keys, NULL) != FZ_OK)
        return;
    for (int algorithm = OIDC_RS256; algorithm <= OIDC_ES256; algorithm++) {
        const struct oidc_token token = {.algorithm = (enum oidc_algorithm)algorithm,
                                         .content = fz_span_cstr("a.b"),
                                         .signature = fz_span_make(some, sizeof(some))};
        if (oidc_keys_verify(keys, &token, NULL) == FZ_OK)
            abort();
    }
}

static void
check_description(struct fz_span text)
{
    static const struct net_guard guard;
    static struct oidc_endpoints endpoints;
    if (oidc_endpoints_parse(text, "https://id.example.com", &guard, &endpoints, NULL) != FZ_OK)
        return;
    if (strncasecmp(endpoints.token, "https://", 8) != 0 ||
        strncasecmp(endpoints.authorization, "https://", 8) != 0 ||
        strpbrk(endpoints.token, " \r\n#"))
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const struct fz_span rest = size > 1 ? fz_span_make(data + 1, size - 1) : fz_span_make(NULL, 0);
    if (data[0] == 'K')
        check_keys(rest);
    else if (data[0] == 'D')
        check_description(rest);
    else
        check_token(rest);
    return 0;
}
