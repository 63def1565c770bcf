/*
 * A mail as text (RFC 5322):
 *
 *   From: framezero <alerts@example.com>
 *   To: ann@example.com,
 *    bob@example.com
 *   Subject: =?UTF-8?B?Q2Fmw6k6IG5ldw==?=
 *   Date: Mon, 23 Nov 2026 03:01:51 +0000
 *   Message-ID: <msg_1@example.com>
 *   ...
 *
 *   Text in quoted-printable, where "é =3D" is "=C3=A9 =3D3D".
 */
#include "base/net/net_mail.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text.h"

enum {
    FOLD_AT = 76,    /* RFC 5322, 2.1.1: at most 78 */
    FOLD_WORD = 60,  /* a longer word would leave a line nearly empty */
    WORD_BYTES = 45, /* of an encoded word: 60 characters of base64, 73 with what is around them */
    FIRST_WORD_BYTES = 36, /* the same after "Subject: "; such lines have at most 76 characters */
    LINE_MAX_LEN = 75,     /* of quoted-printable, without the '=' that joins lines */
    LOCAL_MAX_LEN = 64,
};

static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/* Letters, digits and `more`, with no dot at the start, at the end or after another. */
static bool
is_dotted(const char *text, size_t len, const char *more)
{
    if (len == 0 || text[0] == '.' || text[len - 1] == '.')
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '.' ? text[i + 1] == '.'
                           : !strchr(LETTERS, text[i]) && !strchr(more, text[i]))
            return false;
    }
    return true;
}

enum fz_code
net_mail_check_address(const char *address, struct fz_error *err)
{
    const char *at = strrchr(address, '@');
    size_t local = at ? (size_t)(at - address) : 0;
    /* RFC 5322, 3.2.3: atext. What needs quotes is refused. */
    if (!at || strlen(address) > NET_MAIL_ADDRESS_MAX || local > LOCAL_MAX_LEN ||
        !is_dotted(address, local, "!#$%&'*+/=?^_`{|}~-") ||
        !is_dotted(at + 1, strlen(at + 1), "-") || address[0] == '-' || at[1] == '-')
        return fz_fail(err, FZ_E_MALFORMED,
                       "'%.80s' is not a mail address such as alerts@example.com", address);
    return FZ_OK;
}

bool
net_mail_tls_parse(const char *word, enum net_mail_tls *ret)
{
    static const char *const words[] = {[NET_MAIL_TLS_REQUIRED] = "required",
                                        [NET_MAIL_TLS_OFFERED] = "offered",
                                        [NET_MAIL_TLS_OFF] = "off"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(words); i++) {
        if (strcmp(words[i], word) == 0) {
            *ret = (enum net_mail_tls)i;
            return true;
        }
    }
    return false;
}

/* ---- header ------------------------------------------------------------------------------ */

/* One line of at most NET_MAIL_SUBJECT_MAX bytes. */
static void
clean_subject(const char *subject, struct fz_buffer *out)
{
    for (struct fz_span rest = fz_span_cstr(subject); rest.len;) {
        size_t n = fz_text_utf8_len(rest);
        if (out->len + (n ? n : 1) > NET_MAIL_SUBJECT_MAX)
            return;
        if (n == 0 || rest.data[0] < ' ' || rest.data[0] == 0x7f)
            fz_buffer_char(out, ' ');
        else
            fz_buffer_append(out, rest.data, n);
        rest = fz_span_from(rest, n ? n : 1);
    }
}

static bool
is_ascii(struct fz_span text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] > '~')
            return false;
    }
    return true;
}

/* Words with one space between them, none as long as a line. Several spaces could become a line of
 * their own, which old servers take for the end of the header. */
static bool
can_fold(struct fz_span text)
{
    size_t word = 0;
    for (size_t i = 0; i < text.len; i++) {
        bool is_space = text.data[i] == ' ';
        word = is_space ? 0 : word + 1;
        if (word > FOLD_WORD ||
            (is_space && (i == 0 || i + 1 == text.len || text.data[i + 1] == ' ')))
            return false;
    }
    return true;
}

/* The space where a line ends begins the next one (RFC 5322, 2.2.3). */
static void
append_folded(struct fz_buffer *out, struct fz_span text, size_t column)
{
    while (text.len) {
        size_t len = 1;
        while (len < text.len && text.data[len] != ' ')
            len++;
        if (column + len > FOLD_AT) {
            fz_buffer_text(out, "\r\n");
            column = 0;
        }
        fz_buffer_append(out, text.data, len);
        column += len;
        text = fz_span_from(text, len);
    }
    fz_buffer_text(out, "\r\n");
}

/* RFC 2047: words of whole characters, each on a line of its own. */
static void
append_subject(struct fz_buffer *out, struct fz_span text)
{
    static const char name[] = "Subject: ";
    fz_buffer_text(out, name);
    bool is_short = strlen(name) + text.len <= FOLD_AT;
    /* What looks like an encoded word is encoded, or a reader would decode it. */
    if (is_ascii(text) && !fz_text_contains(text, "=?") && (is_short || can_fold(text))) {
        append_folded(out, text, is_short ? 0 : strlen(name));
        return;
    }
    for (bool first = true; text.len; first = false) {
        size_t len = 0;
        while (len < text.len) {
            size_t n = fz_text_utf8_len(fz_span_from(text, len));
            if (len + n > (first ? FIRST_WORD_BYTES : WORD_BYTES))
                break;
            len += n;
        }
        fz_buffer_text(out, first ? "=?UTF-8?B?" : "\r\n =?UTF-8?B?");
        fz_text_base64_append(out, fz_span_until(text, len));
        fz_buffer_text(out, "?=");
        text = fz_span_from(text, len);
    }
    fz_buffer_text(out, "\r\n");
}

/* Not by strftime(), whose names of days depend on the locale. */
static void
append_date(struct fz_buffer *out, int64_t time_ms)
{
    static const char days[] = "SunMonTueWedThuFriSat",
                      months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct tm tm = {.tm_mday = 1, .tm_year = 70};
    time_t seconds = (time_t)(time_ms / 1000);
    if (!gmtime_r(&seconds, &tm))
        seconds = 0;
    fz_buffer_printf(out, "Date: %.3s, %02d %.3s %04d %02d:%02d:%02d +0000\r\n",
                     days + 3 * tm.tm_wday, tm.tm_mday, months + 3 * tm.tm_mon, tm.tm_year + 1900,
                     tm.tm_hour, tm.tm_min, tm.tm_sec);
}

/* ---- text -------------------------------------------------------------------------------- */

static bool
is_literal(struct fz_span line, size_t i)
{
    uint8_t c = line.data[i];
    /* Blanks at the end of a line are lost on the way, and a dot at its start means an end. */
    if (c == ' ' || c == '\t')
        return i + 1 < line.len;
    return c > ' ' && c <= '~' && c != '=' && (c != '.' || i > 0);
}

/* Quoted-printable (RFC 2045, 6.7) of a line without its end. */
static void
append_line(struct fz_buffer *out, struct fz_span line)
{
    size_t column = 0;
    for (size_t i = 0; i < line.len; i++) {
        bool literal = is_literal(line, i);
        size_t width = literal ? 1 : 3;
        if (column + width > LINE_MAX_LEN) {
            fz_buffer_text(out, "=\r\n");
            column = 0;
            /* A dot that begins a line now. */
            literal = literal && line.data[i] != '.';
            width = literal ? 1 : 3;
        }
        if (literal)
            fz_buffer_char(out, (char)line.data[i]);
        else
            fz_buffer_printf(out, "=%02X", line.data[i]);
        column += width;
    }
    fz_buffer_text(out, "\r\n");
}

static void
append_text(struct fz_buffer *out, const char *text)
{
    for (size_t len; *text; text += len + (text[len] == '\n')) {
        len = strcspn(text, "\n");
        append_line(out, fz_span_make(text, len));
    }
}

/* ---- the whole --------------------------------------------------------------------------- */

static enum fz_code
check(const struct net_mail *mail, struct fz_error *err)
{
    enum fz_code code = net_mail_check_address(mail->from, err);
    if (mail->n_to == 0 || mail->n_to > NET_MAIL_TO_MAX)
        return fz_fail(err, FZ_E_MALFORMED, "a mail needs 1 to %d recipients",
                       (int)NET_MAIL_TO_MAX);
    for (size_t i = 0; i < mail->n_to && code == FZ_OK; i++)
        code = net_mail_check_address(mail->to[i], err);
    if (code == FZ_OK && (!is_dotted(mail->id, strlen(mail->id), "_-") ||
                          (mail->thread && !is_dotted(mail->thread, strlen(mail->thread), "_-")) ||
                          (mail->list && !is_dotted(mail->list, strlen(mail->list), "_-"))))
        return fz_fail(err, FZ_E_MALFORMED,
                       "the id of a mail has letters, digits, '.', '-' and '_'");
    return code;
}

enum fz_code
net_mail_append(const struct net_mail *mail, struct fz_buffer *out, struct fz_error *err)
{
    enum fz_code code = check(mail, err);
    if (code != FZ_OK)
        return code;
    const char *domain = strrchr(mail->from, '@') + 1;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer subject = fz_buffer_make(0);
    clean_subject(mail->subject, &subject);
    fz_buffer_printf(out, "From: framezero <%s>\r\nTo: ", mail->from);
    for (size_t i = 0; i < mail->n_to; i++)
        fz_buffer_printf(out, "%s%s", i ? ",\r\n " : "", mail->to[i]);
    fz_buffer_text(out, "\r\n");
    append_subject(out, fz_buffer_span(&subject));
    append_date(out, mail->time_ms);
    fz_buffer_printf(out, "Message-ID: <%s@%s>\r\n", mail->id, domain);
    if (mail->thread)
        fz_buffer_printf(out, "References: <%s@%s>\r\n", mail->thread, domain);
    if (mail->list) /* RFC 2919 */
        fz_buffer_printf(out, "List-Id: <%s.%s>\r\n", mail->list, domain);
    /* RFC 3834: programs that answer mail leave this one alone. */
    fz_buffer_text(out, "Auto-Submitted: auto-generated\r\n"
                        "MIME-Version: 1.0\r\n"
                        "Content-Type: text/plain; charset=utf-8\r\n"
                        "Content-Transfer-Encoding: quoted-printable\r\n"
                        "\r\n");
    append_text(out, mail->text);
    code = fz_buffer_done(&subject, err);
    return code == FZ_OK ? fz_buffer_done(out, err) : code;
}
