#include "server/clients/clients.h"

#include "server/clients/sentry/cli.h"
#include "server/clients/sentry/sdk.h"
#include "server/clients/symbolicate_v5/symbolicate_v5.h"

/* clang-format off */
static const struct api_routes *const all[] = {
    &clients_senders,
    &clients_sentry_sdk,
    &clients_sentry_cli,
    &clients_symbolicate_v5,
    &clients_uploaders,
};
/* clang-format on */

const struct api_routes *const *
clients_all(size_t *ret_n)
{
    *ret_n = FZ_ARRAY_LEN(all);
    return all;
}
