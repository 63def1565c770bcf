/*
 * What goes wrong inside the server is for its log: such texts name hosts, ports and paths. A
 * client gets a fixed sentence, and finds the rest by the request's id.
 */
#include "server/http/internal.h"

#include <stdio.h>

#include "base/log.h"

static bool
begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const char *
public_text(const struct fz_error *err)
{
    if (err->code == FZ_E_NO_MEMORY)
        return "the server is out of memory; try again";
    if (err->code == FZ_E_INTERNAL)
        return "an internal error; the server's log has it under this request's X-Request-Id";
    if (begins(err->text, "database") || begins(err->text, "the database") ||
        begins(err->text, "the connection to the database"))
        return "the database is not available; try again";
    return "the server cannot do this just now; try again";
}

void
http_public_error(const struct http_request *request, const struct fz_error *err,
                  struct fz_error *ret)
{
    *ret = *err;
    if (err->code != FZ_E_UNAVAILABLE && err->code != FZ_E_NO_MEMORY && err->code != FZ_E_INTERNAL)
        return;
    char quoted[sizeof(err->text) * 2];
    fz_log(FZ_LOG_WARN, "error", "id=%s code=%s text=%s", request->id, fz_code_name(err->code),
           fz_log_quote(err->text, quoted, sizeof(quoted)));
    snprintf(ret->text, sizeof(ret->text), "%s", public_text(err));
    ret->offset = -1;
}
