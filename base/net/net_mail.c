#include "base/net/net_mail.h"

#include <stdio.h>
#include <string.h>

#include "base/net/net_call.h"

struct upload {
    struct fz_span message;
    size_t sent;
};

enum fz_code
net_mail_check_server(const struct net_mail_server *server, struct fz_error *err)
{
    char host[FZ_HOST_ROOM];
    FZ_CLEANUP(net_url_freep) CURLU *url = NULL;
    enum fz_code code = net_url_parse(server->url, "smtp,smtps", &url, host, err);
    bool is_encrypted = server->tls == NET_MAIL_TLS_REQUIRED ||
                        (code == FZ_OK && strncmp(server->url, "smtps://", 8) == 0);
    if (code == FZ_OK && !is_encrypted && server->user && *server->user)
        return fz_fail(err, FZ_E_MALFORMED,
                       "a password for %s would be sent without encryption: require TLS", host);
    return code;
}

static size_t
read_message(char *to, size_t size, size_t n, void *user)
{
    struct upload *upload = user;
    struct fz_span rest = fz_span_from(upload->message, upload->sent);
    size_t len = size * n < rest.len ? size * n : rest.len;
    if (len > 0)
        memcpy(to, rest.data, len);
    upload->sent += len;
    return len;
}

static struct curl_slist *
make_recipients(const struct net_mail *mail)
{
    struct curl_slist *list = NULL;
    for (size_t i = 0; i < mail->n_to; i++) {
        char address[NET_MAIL_ADDRESS_MAX + 3];
        snprintf(address, sizeof(address), "<%s>", mail->to[i]);
        struct curl_slist *more = curl_slist_append(list, address);
        if (!more) {
            curl_slist_free_all(list);
            return NULL;
        }
        list = more;
    }
    return list;
}

static void
free_list(struct curl_slist **list)
{
    curl_slist_free_all(*list);
}

/* The first reply that says no, in the replies that were kept. */
static void
note_refusal(struct net_outcome *outcome)
{
    for (const char *line = outcome->answer; *line;
         line += strcspn(line, "\n"), line += *line == '\n') {
        if ((*line == '4' || *line == '5') && strlen(line) > 3 && strchr("0123456789", line[1])) {
            snprintf(outcome->text, sizeof(outcome->text), "the mail server answered: %.*s",
                     (int)strcspn(line, "\r\n"), line);
            return;
        }
    }
}

static bool
set_up(CURL *curl, const struct net_mail *mail, const struct net_mail_server *server,
       const struct curl_slist *to, struct upload *upload)
{
    static const long tls[] = {[NET_MAIL_TLS_REQUIRED] = CURLUSESSL_ALL,
                               [NET_MAIL_TLS_OFFERED] = CURLUSESSL_TRY,
                               [NET_MAIL_TLS_OFF] = CURLUSESSL_NONE};
    char from[NET_MAIL_ADDRESS_MAX + 3];
    snprintf(from, sizeof(from), "<%s>", mail->from);
    bool has_login = server->user && *server->user;
    bool good = curl_easy_setopt(curl, CURLOPT_USE_SSL, tls[server->tls]) == CURLE_OK &&
                curl_easy_setopt(curl, CURLOPT_MAIL_FROM, from) == CURLE_OK &&
                curl_easy_setopt(curl, CURLOPT_MAIL_RCPT, to) == CURLE_OK &&
                curl_easy_setopt(curl, CURLOPT_MAIL_RCPT_ALLLOWFAILS, 1L) == CURLE_OK &&
                curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L) == CURLE_OK &&
                curl_easy_setopt(curl, CURLOPT_READFUNCTION, read_message) == CURLE_OK &&
                curl_easy_setopt(curl, CURLOPT_READDATA, upload) == CURLE_OK &&
                curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)upload->message.len) ==
                    CURLE_OK;
    if (good && has_login)
        good = curl_easy_setopt(curl, CURLOPT_USERNAME, server->user) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_PASSWORD, server->password ? server->password : "") ==
                   CURLE_OK;
    return good;
}

void
net_mail_send(const struct net_mail *mail, const struct net_mail_server *server,
              const struct net_rules *rules, struct net_outcome *ret)
{
    struct fz_error err;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer message = fz_buffer_make(NET_BODY_MAX);
    *ret = (struct net_outcome){.result = NET_FAILED};
    if (net_mail_append(mail, &message, &err) != FZ_OK ||
        net_mail_check_server(server, &err) != FZ_OK) {
        net_call_invalid(ret, err.text);
        return;
    }
    /* The operator has named this host; users name the recipients only. */
    FZ_CLEANUP(net_call_close) struct net_call call = {.outcome = ret, .is_mail = true};
    if (!net_call_open(&call, server->url, "smtp,smtps", rules))
        return;
    FZ_CLEANUP(free_list) struct curl_slist *to = make_recipients(mail);
    struct upload upload = {.message = fz_buffer_span(&message)};
    if (to && set_up(call.curl, mail, server, to, &upload)) {
        net_call_perform(&call);
        note_refusal(ret);
    } else {
        snprintf(ret->text, sizeof(ret->text), "out of memory");
    }
}
