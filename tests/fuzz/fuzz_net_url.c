/* Any text as the URL of a channel, the list of internal targets and a mail address: what is accepted has only the
 * characters that it may have, and no address that the guard refuses. */
#include <stdlib.h>

#include "base/net/net_mail.h"
#include "base/net/net_request.h"

enum { TEXT_MAX = 4096 };

static void
check_url(const char *text)
{
    static const struct net_guard none;
    if (net_request_check_url(text, &none, NULL) != FZ_OK)
        return;
    const char *start = strstr(text, "://");
    size_t scheme = start ? (size_t)(start - text) : 0;
    if ((scheme != 4 && scheme != 5) || strlen(text) > NET_URL_MAX)
        abort();
    start += 3;
    size_t len = strcspn(start, "/?#");
    if (len == 0 || strcspn(start, "@%\\ ") < len)
        abort();
    for (const char *c = text; *c; c++) {
        if (*c <= ' ' || *c > '~')
            abort();
    }
    char host[TEXT_MAX + 1];
    struct fz_ip ip;
    memcpy(host, start, len);
    host[len] = '\0';
    host[strcspn(host, ":")] = '\0';
    if (fz_ip_parse_v4(fz_span_cstr(host), &ip) && net_address_kind(&ip) != NET_ADDRESS_GLOBAL)
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[TEXT_MAX + 1];
    struct net_guard guard;
    size_t len = size < TEXT_MAX ? size : TEXT_MAX;
    if (len > 0)
        memcpy(text, data, len);
    text[len] = '\0';
    check_url(text);
    if (net_mail_check_address(text, NULL) == FZ_OK &&
        (strpbrk(text, "\r\n <>,;:\"()[]\\") || strlen(text) > NET_MAIL_ADDRESS_MAX))
        abort();
    if (net_guard_parse(text, &guard, NULL) == FZ_OK && strlen(guard.hosts) >= NET_GUARD_TEXT)
        abort();
    return 0;
}
