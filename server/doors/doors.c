#include "server/doors/doors_private.h"

/* clang-format off */
static const struct api_routes *const all[] = {
    &doors_senders,
    &doors_sentry,
    &doors_sentry_cli,
    &doors_symbolicate_v5,
    &doors_uploaders,
};
/* clang-format on */

const struct api_routes *const *
doors_all(size_t *ret_n)
{
    *ret_n = FZ_ARRAY_LEN(all);
    return all;
}
