/*
 * Mail through one SMTP server, which the operator names: a plain text to a few recipients.
 *
 * A message is RFC 5322 with MIME (RFC 2045, 2047): the subject in encoded words where it is not
 * ASCII or cannot be folded, the text as quoted-printable UTF-8. Line breaks in a subject or an address cannot add
 * header fields. The connection is encrypted unless the operator says otherwise, and a password is
 * only sent over an encrypted one. SIGPIPE as in net_request.h.
 */
#ifndef BASE_NET_MAIL_H
#define BASE_NET_MAIL_H

#include "base/buffer.h"
#include "base/net/net_request.h"

enum { NET_MAIL_TO_MAX = 50, NET_MAIL_ADDRESS_MAX = 254, NET_MAIL_SUBJECT_MAX = 480 };

enum net_mail_tls {
    NET_MAIL_TLS_REQUIRED, /* smtp:// without STARTTLS fails */
    NET_MAIL_TLS_OFFERED, /* STARTTLS if the server offers it, which whoever is between can prevent */
    NET_MAIL_TLS_OFF,
};

/* "required", "offered", "off"; false for another word. */
bool net_mail_tls_parse(const char *word, enum net_mail_tls *ret);

struct net_mail_server {
    const char *url; /* "smtp://mail.example.com:587" or "smtps://mail.example.com"; a path is the
                        name to introduce oneself with (EHLO), else the machine's */
    const char *user, *password; /* NULL or "": no login */
    enum net_mail_tls tls;
};

struct net_mail {
    const char *from; /* "alerts@example.com" */
    const char *const *to;
    size_t n_to;
    const char *subject; /* UTF-8; control characters become spaces, and a long one is cut */
    const char *text;    /* UTF-8, lines end with \n */
    const char *id;      /* letters, digits, '.', '-' and '_'; the same in each attempt */
    const char *thread;  /* of the same characters: mails that belong together; NULL: none */
    const char *list;    /* of the same characters: what recipients sort mail by; NULL: none */
    int64_t time_ms;     /* Unix time */
};

/* An address as servers have it, "name@example.com", without display name, quotes or comments.
 * MALFORMED quotes it. */
FZ_MUST_CHECK enum fz_code net_mail_check_address(const char *address, struct fz_error *err);

/* Can mail be sent through it? MALFORMED: the URL is not one; a password without encryption. */
FZ_MUST_CHECK enum fz_code net_mail_check_server(const struct net_mail_server *server,
                                                 struct fz_error *err);

/* The message as it is sent, with CR LF. MALFORMED: an address or id is not one. */
FZ_MUST_CHECK enum fz_code net_mail_append(const struct net_mail *mail, struct fz_buffer *out,
                                           struct fz_error *err);

/*
 * Send it. Every failure is an outcome; `status` is the server's last reply, and `answer` its
 * replies. Where a server takes the mail for some of the recipients, the mail is sent, and `text`
 * says that it refused another one.
 */
void net_mail_send(const struct net_mail *mail, const struct net_mail_server *server,
                   const struct net_rules *rules, struct net_outcome *ret);

#endif
