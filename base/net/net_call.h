/*
 * What requests and mails share: a libcurl handle that connects to allowed addresses only, and what
 * its transfer comes to. Private to base/net.
 */
#ifndef BASE_NET_CALL_H
#define BASE_NET_CALL_H

#include <curl/curl.h>

#include "base/net/net_request.h"

struct net_call {
    CURL *curl;
    CURLU *url;
    struct curl_slist *resolve;
    char host[FZ_HOST_ROOM];       /* of the URL, without brackets */
    const struct net_guard *guard; /* NULL: the operator named the host */
    const char *setting;           /* which setting `guard` is of */
    struct net_outcome *outcome;
    struct fz_buffer *answer; /* takes the whole body; NULL: outcome->answer takes its start */
    size_t n_answer_bytes, n_header_bytes;
    bool is_mail;      /* lines of SMTP are kept as the answer */
    bool has_answer;   /* the header of a final response is complete */
    bool has_socket;   /* an address was allowed */
    char refused[160]; /* the last address that was not, in words */
    char error[CURL_ERROR_SIZE];
};

/* The URL's parts by libcurl's own parser, which also makes the request: no second parser can find
 * another host in it. `schemes` is "http,https" or "smtp,smtps". The caller frees *ret_url. */
FZ_MUST_CHECK enum fz_code net_url_parse(const char *url, const char *schemes, CURLU **ret_url,
                                         char ret_host[FZ_HOST_ROOM], struct fz_error *err);
void net_url_freep(CURLU **url);

/* A handle for the URL with all that protects; false: *outcome says why. Close it in any case. */
bool net_call_open(struct net_call *call, const char *url, const char *schemes,
                   const struct net_rules *rules);
/* Transfer, and fill the outcome. */
void net_call_perform(struct net_call *call);
void net_call_close(struct net_call *call);

/* The outcome of what cannot be sent. */
void net_call_invalid(struct net_outcome *outcome, const char *text);

#endif
