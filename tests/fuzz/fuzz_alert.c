/* Any bytes as a stored event: what is read renders for every channel to JSON within its limit, or to a mail whose
 * header has only the fields that a mail of ours has. */
#include <stdlib.h>

#include "base/json/scan.h"
#include "base/text.h"
#include "server/alert/alert.h"

enum { CAP = 16 << 20, WEBHOOK_MAX = 20000, BODY_MAX = 28000 };

static bool
is_known_field(const char *line)
{
    static const char *const names[] = {"From: framezero <d@e.f>\r\n",
                                        "To: a@b.c\r\n",
                                        "Subject: ",
                                        "Date: ",
                                        "Message-ID: <msg_1@e.f>\r\n",
                                        "References: <issue-",
                                        "Auto-Submitted: auto-generated\r\n",
                                        "MIME-Version: 1.0\r\n",
                                        "Content-Type: text/plain; charset=utf-8\r\n",
                                        "List-Id: <",
                                        "Content-Transfer-Encoding: quoted-printable\r\n"};
    /* A folded subject goes on; a line of spaces would end the header for old servers. */
    if (line[0] == ' ')
        return line[1] != ' ' && line[1] != '\r';
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        if (fz_text_has_prefix(line, names[i]))
            return true;
    }
    return false;
}

static void
check_mail(const struct net_mail *mail)
{
    bool is_header = true;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    if (net_mail_append(mail, &out, NULL) != FZ_OK)
        abort();
    for (const char *line = fz_buffer_cstr(&out); *line;) {
        size_t len = strcspn(line, "\r\n");
        if (line[len] != '\r' || line[len + 1] != '\n' || *line == '.')
            abort();
        if (is_header && len > 0 && !is_known_field(line))
            abort();
        for (size_t i = 0; i < len; i++) {
            if (line[i] < ' ' || line[i] > '~')
                abort();
        }
        is_header = is_header && len > 0;
        line += len + 2;
    }
}

static void
check(const struct alert_event *event, enum alert_channel_kind kind)
{
    static const char *const to[] = {"a@b.c"};
    static const struct json_scan_limits limits = {.depth = 32, .output_bytes = CAP};
    const struct alert_channel channel = {.kind = kind,
                                          .url = "https://a/",
                                          .secrets = {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
                                          .n_secrets = 1,
                                          .to = to,
                                          .n_to = 1};
    const struct alert_sender sender = {.server = "https://s", .from = "d@e.f", .now_ms = 1};
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(CAP);
    struct alert_message message;
    if (alert_render(event, &channel, &sender, &arena, &message, NULL) != FZ_OK)
        abort();
    if (message.is_mail) {
        check_mail(&message.mail);
        return;
    }
    size_t max = kind == ALERT_CHANNEL_WEBHOOK ? WEBHOOK_MAX : BODY_MAX;
    if (message.request.body.len >= max ||
        json_scan(message.request.body, &limits, NULL, NULL, NULL) != FZ_OK)
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(CAP);
    struct alert_event event;
    if (alert_event_read(fz_span_make(data, size), "msg_1", &arena, &event, NULL) != FZ_OK)
        return 0;
    for (int kind = 0; kind < ALERT_CHANNEL_N_KINDS; kind++)
        check(&event, (enum alert_channel_kind)kind);
    return 0;
}
