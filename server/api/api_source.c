#include "server/api/api_source.h"

#include <string.h>

#include "base/text.h"
#include "server/api/api_answer.h"

enum { TEMPLATE_MAX = 500, PATHS_MAX = 64, PATH_MAX_BYTES = 256 };

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* ---- templates ------------------------------------------------------------------------------ */

static const char *const names[] = {"{path}", "{line}", "{version}"};
static const char *const commands[] = {"xed ", "code ", "idea ", "open "};

static bool
has_control(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return true;
    }
    return false;
}

/* Does every brace belong to a name? */
static bool
names_are_known(const char *text)
{
    while (*(text += strcspn(text, "{}"))) {
        size_t i = 0;
        while (i < FZ_ARRAY_LEN(names) && !fz_text_has_prefix(text, names[i]))
            i++;
        if (i == FZ_ARRAY_LEN(names))
            return false;
        text += strlen(names[i]);
    }
    return true;
}

static const char *
link_problem(const char *after_scheme)
{
    size_t host = strspn(after_scheme, LETTERS ".-_:[]");
    if (host == 0 || after_scheme[host] != '/')
        return "write out the host, with a / after it: https://github.com/...";
    return strpbrk(after_scheme, " \"'<>\\^`|")
               ? "an address has no blanks, quotes, <, >, \\, ^, ` and |"
               : NULL;
}

static const char *
command_problem(const char *link)
{
    size_t i = 0;
    while (i < FZ_ARRAY_LEN(commands) && !fz_text_has_prefix(link, commands[i]))
        i++;
    if (i == FZ_ARRAY_LEN(commands))
        return "begin with https:// or with one of the commands xed, code, idea, open";
    /* A command is pasted into a shell, so nothing in it may mean something there. */
    return link[strspn(link, LETTERS " _./:=+,@%-{}")]
               ? "a command has letters, digits, blanks and _ . / : = + , @ % - only"
               : NULL;
}

const char *
api_source_problem(const char *link)
{
    if (!*link)
        return NULL;
    if (strlen(link) > TEMPLATE_MAX)
        return "at most 500 bytes";
    if (has_control(link))
        return "it has control characters";
    if (!strstr(link, names[0]))
        return "write {path} where the file goes";
    if (!names_are_known(link))
        return "between braces there is {path}, {line} or {version}";
    for (size_t i = 0; i < 2; i++) {
        static const char *const schemes[] = {"https://", "http://"};
        if (fz_text_has_prefix(link, schemes[i]))
            return link_problem(link + strlen(schemes[i]));
    }
    return command_problem(link);
}

/* ---- out ------------------------------------------------------------------------------------ */

void
api_source_write(struct json_write *w, const struct store_source *source)
{
    const char *line = source->paths ? source->paths : "";
    json_write_text(w, "source_template", source->link ? source->link : "");
    json_write_open(w, "source_paths", '[');
    while (*line) {
        size_t len = strcspn(line, "\n"), from = strcspn(line, "\t\n");
        json_write_open(w, NULL, '{');
        json_write_span(w, "from", fz_span_make(line, from));
        json_write_span(w, "to",
                        from < len ? fz_span_make(line + from + 1, len - from - 1)
                                   : (struct fz_span){0});
        json_write_close(w, '}');
        line += len + (line[len] == '\n');
    }
    json_write_close(w, ']');
}

/* ---- in ------------------------------------------------------------------------------------- */

static enum fz_code
wrong(struct api_call *call, const char *member, const char *what, struct fz_error *err)
{
    call->detail = api_path_detail(call, member, -1);
    return fz_fail(err, FZ_E_MALFORMED, "%s: %s", member, what);
}

static enum fz_code
read_paths(struct api_call *call, const json_t *list, const char **ret, struct fz_error *err)
{
    static const char want[] =
        "not a list of {\"from\": a text of 1 to 256 bytes, \"to\": one of at most 256}";
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    size_t n = json_array_size(list);
    if (!json_is_array(list))
        return wrong(call, "source_paths", want, err);
    if (n > PATHS_MAX) {
        call->detail = api_path_detail(call, "source_paths", -1);
        return fz_fail(err, FZ_E_LIMIT, "source_paths: %zu, at most %d", n, (int)PATHS_MAX);
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_array_get(list, i);
        const char *from = json_string_value(json_object_get(one, "from"));
        const char *to = json_string_value(json_object_get(one, "to"));
        /* Storage keeps a pair a line with a tab between. */
        if (!from || !to || !*from || strlen(from) > PATH_MAX_BYTES ||
            strlen(to) > PATH_MAX_BYTES || has_control(from) || has_control(to))
            return wrong(call, "source_paths", want, err);
        fz_buffer_text(&text, i ? "\n" : "");
        fz_buffer_text(&text, from);
        fz_buffer_text(&text, "\t");
        fz_buffer_text(&text, to);
    }
    enum fz_code code = fz_buffer_done(&text, err);
    if (code == FZ_OK)
        *ret = fz_arena_text(call->arena, fz_buffer_span(&text));
    return code != FZ_OK ? code : *ret ? FZ_OK : fz_arena_fail(call->arena, err);
}

enum fz_code
api_source_read(struct api_call *call, const json_t *root, struct store_source *ret, bool *ret_any,
                struct fz_error *err)
{
    const json_t *link = json_object_get(root, "source_template"),
                 *paths = json_object_get(root, "source_paths");
    const char *text = json_string_value(link);
    *ret_any = link || paths;
    if (link && (!text || api_source_problem(text)))
        return wrong(call, "source_template", text ? api_source_problem(text) : "not a text", err);
    if (text)
        ret->link = text; /* of the body, which lives as long as the call */
    return paths ? read_paths(call, paths, &ret->paths, err) : FZ_OK;
}
