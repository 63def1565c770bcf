#include "server/report/ips/parts.h"

#include "base/text.h"

/* "SIGNAL 11 Segmentation fault: 11" and MetricKit's "Namespace SIGNAL, Code 11 ...", taken apart.
 */
struct termination {
    struct fz_span space, rest;
    uint64_t code;
    bool has_code;
};

static struct fz_span
word_of(const char **text)
{
    *text += strspn(*text, " ");
    size_t len = strcspn(*text, " ,;");
    struct fz_span word = fz_span_make(*text, len);
    *text += len;
    return word;
}

static bool
skip(const char **text, const char *word)
{
    if (!fz_text_has_prefix(*text, word))
        return false;
    *text += strlen(word);
    return true;
}

static struct termination
split(const char *text)
{
    struct termination all = {.rest = fz_span_cstr(text)}, t = {.has_code = false};
    bool is_named = skip(&text, "Namespace ");
    t.space = word_of(&text);
    text += is_named ? strspn(text, ", ") : 0;
    if (is_named && !skip(&text, "Code "))
        return all;
    struct fz_span code = word_of(&text);
    t.has_code = fz_text_u64(code, &t.code);
    /* A text of another form is kept whole. */
    if (!t.has_code || t.space.len == 0)
        return all;
    t.rest = fz_span_cstr(text + strspn(text, " ;,"));
    return t;
}

static void
write_span(struct json_write *w, const char *key, struct fz_span text)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer copy = fz_buffer_make(0);
    fz_buffer_append(&copy, text.data, text.len);
    json_write_text(w, key, copy.len ? fz_buffer_cstr(&copy) : NULL);
}

static void
write_termination(struct report_ips *ips)
{
    struct json_write *w = &ips->w;
    const json_t *whole = json_object_get(ips->extra, "termination");
    /* From an .ips: with members that a text cannot carry. */
    if (json_is_object(whole)) {
        json_write_open(w, "termination", '{');
        report_extra_write(w, whole, NULL);
        json_write_close(w, '}');
        return;
    }
    if (!ips->r->crash.termination)
        return;
    struct termination t = split(ips->r->crash.termination);
    json_write_open(w, "termination", '{');
    if (t.has_code)
        json_write_u64(w, "code", t.code);
    write_span(w, "namespace", t.space);
    write_span(w, "indicator", t.rest);
    json_write_close(w, '}');
}

static void
write_exception(struct report_ips *ips)
{
    static const char *const written[] = {"codes", "rawCodes", "type", "signal", "subtype", NULL};
    struct json_write *w = &ips->w;
    const struct report_crash *crash = &ips->r->crash;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer codes = fz_buffer_make(0);
    char subtype[256];
    report_apple_codes(crash, &codes);
    report_apple_subtype(crash, subtype, sizeof(subtype));
    json_write_open(w, "exception", '{');
    json_write_text(w, "codes", codes.len ? fz_buffer_cstr(&codes) : NULL);
    if (crash->n_mach_codes) {
        json_write_open(w, "rawCodes", '[');
        for (size_t i = 0; i < crash->n_mach_codes; i++)
            /* Decimal here; the text of `codes` has them in hexadecimal, as Apple does. */
            json_write_u64(w, NULL, crash->mach_codes[i]);
        json_write_close(w, ']');
    }
    json_write_text(w, "type", crash->mach);
    json_write_text(w, "signal", crash->signal);
    json_write_text(w, "subtype", *subtype ? subtype : NULL);
    const json_t *rest = json_object_get(ips->extra, "exception");
    if (json_is_object(rest) && report_apple_is_ips(ips->r))
        report_extra_write(w, rest, written);
    json_write_close(w, '}');
}

/* Only an .ips says which image a message is from. Elsewhere those of an exception are from
 * CoreFoundation, and others are put under the process. */
static void
write_messages(struct report_ips *ips)
{
    struct json_write *w = &ips->w;
    const struct report_crash *crash = &ips->r->crash;
    const json_t *asi = json_object_get(ips->extra, "asi");
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer thrown = fz_buffer_make(0);
    report_apple_thrown(crash, &thrown);
    if (json_is_object(asi) && report_apple_is_ips(ips->r)) {
        json_write_open(w, "asi", '{');
        report_extra_write(w, asi, NULL);
        json_write_close(w, '}');
        return;
    }
    if (thrown.len == 0 && crash->n_messages == 0)
        return;
    json_write_open(w, "asi", '{');
    if (thrown.len) {
        json_write_open(w, "CoreFoundation", '[');
        json_write_text(w, NULL, fz_buffer_cstr(&thrown));
        json_write_close(w, ']');
    }
    if (crash->n_messages) {
        const char *process = ips->r->process.name ? ips->r->process.name : ips->r->app_name;
        json_write_open(w, process ? process : "process", '[');
        for (size_t i = 0; i < crash->n_messages; i++)
            json_write_text(w, NULL, crash->messages[i]);
        json_write_close(w, ']');
    }
    json_write_close(w, '}');
}

void
report_ips_crash(struct report_ips *ips)
{
    write_exception(ips);
    write_termination(ips);
    write_messages(ips);
}
