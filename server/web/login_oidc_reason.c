/* What a browser gets in a login through an OpenID provider: where to go next, and why it failed. */
#include <string.h>

#include "base/text.h"
#include "server/web/login_oidc.h"

enum { REASON_S = 120 };

const char web_oidc_login_page[] = "/login";

/* What the page says; %s is the provider's name. */
static const struct {
    const char *word, *text;
} reasons[WEB_OIDC_REASONS] = {
    [WEB_OIDC_FINE] = {"", ""},
    [WEB_OIDC_BUSY] = {"busy", "too many people are logging in at once: try again"},
    [WEB_OIDC_DOWN] = {"down", "%s cannot be reached: log in with a password, or try again later"},
    [WEB_OIDC_STATE] = {"state",
                        "this login was not begun in this browser, or took too long: try again"},
    [WEB_OIDC_REFUSED] = {"refused", "%s did not log you in"},
    [WEB_OIDC_INVALID] = {"invalid",
                          "what %s answered does not count: try again; the server's log says why"},
    [WEB_OIDC_MANY] = {"many", "too many failed logins: try again in a minute"},
    [WEB_OIDC_SETUP] = {"setup", "this server has no user yet: its setup link comes first"},
    [WEB_OIDC_UNKNOWN] = {"unknown",
                          "you are not a user of this server: ask an admin for an invitation"},
    [WEB_OIDC_UNVERIFIED] = {"unverified", "%s does not confirm that your e-mail address is yours"},
    [WEB_OIDC_OTHER] = {"other",
                        "the user with your address has another account at %s: ask an admin"},
    [WEB_OIDC_DISABLED] = {"disabled", "your account on this server is disabled: ask an admin"},
};

/* ---- cookies --------------------------------------------------------------------------------- */

const char *
web_oidc_cookie_name(const struct api_call *call, enum web_oidc_cookie which)
{
    static const char *const names[2][2] = {
        {"framezero_oidc", "framezero_oidc_error"},
        {"__Host-framezero_oidc", "__Host-framezero_oidc_error"}};
    return names[api_is_https(call->api, call->request)][which];
}

bool
web_oidc_cookie(const struct api_call *call, enum web_oidc_cookie which, char *ret, size_t room)
{
    const char *header = http_header(call->request, "Cookie");
    return header && api_cookie_find(header, web_oidc_cookie_name(call, which), ret, room);
}

/* ---- where to go ----------------------------------------------------------------------------- */

bool
web_oidc_next_is_good(const char *next)
{
    if (strcmp(next, "/") != 0 && !fz_text_has_prefix(next, "/p/"))
        return false;
    for (const char *c = next; *c; c++) {
        if (*c <= ' ' || *c > '~' || strchr("\\\"<>^`{|}", *c))
            return false;
    }
    return strlen(next) <= WEB_OIDC_NEXT_MAX;
}

void
web_oidc_redirect(struct api_call *call, const char *to)
{
    http_add_header(call->request, "Location", to);
    http_add_header(call->request, "Cache-Control", "no-store");
    /* The address of this request may contain the code. */
    http_add_header(call->request, "Referrer-Policy", "no-referrer");
    http_respond(call->request, 303, "text/plain", fz_span_make(NULL, 0));
}

enum fz_code
web_oidc_refuse(struct api_call *call, enum web_oidc_reason reason, const char *why,
                const char *next)
{
    http_log_note(call->request, "login", "failed");
    http_log_note(call->request, "reason", reasons[reason].word);
    if (why && *why)
        http_log_note(call->request, "why", why);
    web_set_cookie(call, web_oidc_cookie_name(call, WEB_OIDC_COOKIE_LOGIN), "", 0);
    web_set_cookie(call, web_oidc_cookie_name(call, WEB_OIDC_COOKIE_REASON), reasons[reason].word,
                   REASON_S);
    web_oidc_redirect(call, next);
    return FZ_OK;
}

void
web_oidc_tell(struct api_call *call, struct json_write *w)
{
    const char *name = api_login_of(call->api)->oidc_name;
    char word[16] = "";
    if (!web_oidc_of(api_web(call->api))->oidc)
        return;
    json_write_open(w, "oidc", '{');
    json_write_text(w, "name", name);
    if (web_oidc_cookie(call, WEB_OIDC_COOKIE_REASON, word, sizeof(word))) {
        web_set_cookie(call, web_oidc_cookie_name(call, WEB_OIDC_COOKIE_REASON), "", 0);
        for (size_t i = WEB_OIDC_FINE + 1; i < WEB_OIDC_REASONS; i++) {
            const char *text = reasons[i].text, *place = strstr(text, "%s");
            int len = place ? (int)(place - text) : (int)strlen(text);
            if (strcmp(word, reasons[i].word) == 0)
                json_write_text(w, "error",
                                fz_arena_printf(call->arena, "%.*s%s%s", len, text,
                                                place ? name : "", place ? place + 2 : ""));
        }
    }
    json_write_close(w, '}');
}
