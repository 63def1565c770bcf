#include "server/alert/sign.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/random.h"
#include "base/text.h"

enum { NEW_SECRET_BYTES = 32, ARENA_CAP = 64 * 1024 };

static const char PREFIX[] = "whsec_";

void
alert_secret_make(char ret[ALERT_SECRET_TEXT])
{
    uint8_t bytes[NEW_SECRET_BYTES];
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    fz_random(bytes, sizeof(bytes));
    fz_text_base64_append(&text, fz_span_make(bytes, sizeof(bytes)));
    snprintf(ret, ALERT_SECRET_TEXT, "%s%s", PREFIX, fz_buffer_cstr(&text));
}

enum fz_code
alert_secret_parse(const char *text, uint8_t ret[ALERT_SECRET_MAX], size_t *ret_len,
                   struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_CAP);
    struct fz_span bytes = {0};
    bool has_prefix = fz_text_has_prefix(text, PREFIX) && strlen(text) < ALERT_SECRET_TEXT;
    enum fz_code code = FZ_OK;
    if (has_prefix)
        code = fz_text_base64_decode(fz_span_cstr(text + strlen(PREFIX)), &arena, &bytes, err);
    if (code == FZ_E_NO_MEMORY)
        return code;
    if (code != FZ_OK || bytes.len < ALERT_SECRET_MIN || bytes.len > ALERT_SECRET_MAX)
        return fz_fail(err, FZ_E_MALFORMED,
                       "the secret is not %s followed by the base64 of %d to %d bytes", PREFIX,
                       (int)ALERT_SECRET_MIN, (int)ALERT_SECRET_MAX);
    memcpy(ret, bytes.data, bytes.len);
    *ret_len = bytes.len;
    return FZ_OK;
}

enum fz_code
alert_sign(const struct alert_signed *what, const char *const *secrets, size_t n_secrets,
           struct fz_buffer *out, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    fz_buffer_printf(&text, "%s.%lld.", what->id, (long long)what->time_s);
    fz_buffer_append(&text, what->body.data, what->body.len);
    enum fz_code code = fz_buffer_done(&text, err);
    for (size_t i = 0; i < n_secrets && code == FZ_OK; i++) {
        uint8_t secret[ALERT_SECRET_MAX], mac[FZ_SHA256_LEN];
        size_t len = 0;
        code = alert_secret_parse(secrets[i], secret, &len, err);
        if (code != FZ_OK)
            return code;
        fz_hmac_sha256(fz_span_make(secret, len), fz_buffer_span(&text), mac);
        fz_buffer_text(out, i ? " v1," : "v1,");
        fz_text_base64_append(out, fz_span_make(mac, sizeof(mac)));
    }
    return code == FZ_OK ? fz_buffer_done(out, err) : code;
}
