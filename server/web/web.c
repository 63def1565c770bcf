#include "server/web/web.h"

#include "server/api/api_client.h"

/* clang-format off */
static const struct api_routes *const all[] = {
    &web_files,
    &web_login,
    &web_links,
    &web_account,
    &web_users,
    &web_oidc,
};
/* clang-format on */

const struct api_routes *const *
web_all(size_t *ret_n)
{
    *ret_n = FZ_ARRAY_LEN(all);
    return all;
}
