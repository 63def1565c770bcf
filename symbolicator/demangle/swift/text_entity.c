/*
 * An entity in readable Swift text: a path and the labels of parameters.
 *
 *   (extension in Shop):Swift.String.(trimmed in _1234)<A>(by: Swift.Int) -> ()    in full
 *   String.trimmed<A>(by:)                                                         simplified
 *   Swift.String.trimmed(by:), String.trimmed(by:)                                 as it is read
 */
#include "symbolicator/demangle/swift/text.h"

#include "base/attr.h"
#include "base/text.h"

static bool
is_labels(struct fz_span text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!sym_swift_text_is_word(text.data[i]) && text.data[i] != ':')
            return false;
    }
    return text.len > 0 && text.data[text.len - 1] == ':';
}

/* The labels of parameters: "x:_:" as it is, and "x: Swift.Int, Swift.Int". */
static void
put_labels(struct sym_swift_text *r, struct fz_span inside)
{
    fz_buffer_char(&r->name, '(');
    r->is_swift = r->is_swift || inside.len == 0;
    if (is_labels(inside)) {
        r->is_swift = true;
        fz_buffer_append(&r->name, inside.data, inside.len);
        inside.len = 0;
    }
    while (inside.len > 0) {
        size_t end = sym_swift_text_find(inside, ", "), label = 0;
        while (label < inside.len && sym_swift_text_is_word(inside.data[label]))
            label++;
        if (fz_span_begins(fz_span_from(inside, label), ": "))
            fz_buffer_append(&r->name, inside.data, label);
        else
            fz_buffer_char(&r->name, '_');
        fz_buffer_char(&r->name, ':');
        inside = end == SIZE_MAX ? fz_span_make(NULL, 0) : fz_span_from(inside, end + 2);
    }
    fz_buffer_char(&r->name, ')');
}

/* At the end of a component: names of one declaration become one, as in declare.c. */
static void
end_component(struct sym_swift_text *r)
{
    static const struct {
        const char *from, *to; /* NULL: no component */
    } roles[] = {
        {"__allocating_init", "init"},
        {"__deallocating_deinit", "deinit"},
        {"__isolated_deallocating_deinit", "deinit"},
        {"__ivar_destroyer", "deinit"},
        {"deinit", "deinit"},
        {"getter", "getter"},
        {"setter", "setter"},
        {"willset", "willset"},
        {"didset", "didset"},
        {"read", "read"},
        {"read2", "read"},
        {"modify", "modify"},
        {"modify2", "modify"},
        {"materializeForSet", "modify"},
        {"Addressor", NULL}, /* of several kinds */
    };
    struct fz_span last = fz_span_from(fz_buffer_span(&r->name), r->component);
    for (size_t i = 0; i < FZ_ARRAY_LEN(roles) && r->component > 0; i++) {
        if (roles[i].to ? !fz_span_is(last, roles[i].from) : !fz_span_ends(last, roles[i].from))
            continue;
        r->is_swift = r->is_local = true;
        r->is_function = r->is_function || roles[i].to;
        r->name.len = roles[i].to ? r->component : r->component - 1;
        r->name.data[r->name.len] = '\0';
        fz_buffer_text(&r->name, roles[i].to ? roles[i].to : "");
        break;
    }
}

/* "(extension in Shop):" and "(add in _1234)" at the start of a component. */
static bool
read_private(struct sym_swift_text *r)
{
    static const char extension[] = "(extension in ";
    size_t end = sym_swift_text_after(r->text, 0);
    if (end == SIZE_MAX)
        return false;
    struct fz_span inside = fz_span_between(r->text, 1, end - 1);
    size_t in = fz_text_find(inside, " in ");
    if (fz_span_begins(inside, "in ")) { /* of what has no name: "(in _1234).init()" */
        end += fz_span_begins(fz_span_from(r->text, end), ".");
    } else if (fz_span_begins(r->text, extension)) {
        size_t len = sizeof(extension) - 1;
        if (r->to->module.len == 0)
            fz_buffer_append(&r->to->module, r->text.data + len, end - 1 - len);
        end += fz_span_begins(fz_span_from(r->text, end), ":");
    } else if (in != SIZE_MAX) {
        fz_buffer_append(&r->name, inside.data, in);
    } else {
        return false;
    }
    r->is_swift = true;
    r->text = fz_span_from(r->text, end);
    return true;
}

/* "== infix": the fixity belongs to the name. */
static bool
read_fixity(struct sym_swift_text *r)
{
    static const char *const fixities[] = {" infix", " prefix", " postfix"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(fixities); i++) {
        size_t len = strlen(fixities[i]);
        if (!fz_span_begins(r->text, fixities[i]))
            continue;
        fz_buffer_text(&r->name, fixities[i]);
        r->text = fz_span_from(r->text, len);
        r->text = fz_span_from(r->text, fz_span_begins(r->text, " ("));
        r->is_swift = true;
        return true;
    }
    return false;
}

static bool
read_operator(struct sym_swift_text *r)
{
    const uint8_t *blank = memchr(r->text.data, ' ', r->text.len);
    size_t len = blank ? (size_t)(blank - r->text.data) : 0;
    if (len == 0)
        return false;
    fz_buffer_append(&r->name, r->text.data, len);
    r->text = fz_span_from(r->text, len);
    return read_fixity(r);
}

/* After a blank: false if the entity ends there. */
static bool
read_blank(struct sym_swift_text *r)
{
    if (read_fixity(r))
        return true;
    if (!fz_span_begins(r->text, " #"))
        return false;
    size_t end = 2;
    while (end < r->text.len && r->text.data[end] >= '0' && r->text.data[end] <= '9')
        end++;
    r->text = fz_span_from(r->text, end + (fz_span_begins(fz_span_from(r->text, end), " (")));
    r->is_swift = true;
    return true;
}

bool
sym_swift_text_entity(struct sym_swift_text *r)
{
    r->component = r->name.len;
    while (r->text.len > 0 && !r->name.failed) {
        uint8_t c = r->text.data[0];
        bool at_start = r->name.len == r->component;
        if (c == '(' && at_start) {
            if (!read_private(r))
                return false;
        } else if ((c == '(' || c == '<') && !at_start) {
            size_t end = sym_swift_text_after(r->text, 0);
            if (end == SIZE_MAX)
                return false;
            end_component(r);
            if (c == '(') {
                r->is_local = r->is_function = true;
                put_labels(r, fz_span_between(r->text, 1, end - 1));
            }
            r->text = fz_span_from(r->text, end);
        } else if (c == '.' && !at_start) {
            fz_buffer_char(&r->name, '.');
            r->component = r->name.len;
            r->text = fz_span_from(r->text, 1);
        } else if (sym_swift_text_is_word(c)) {
            fz_buffer_char(&r->name, (char)c);
            r->text = fz_span_from(r->text, 1);
        } else if (at_start && c != ' ') {
            if (!read_operator(r))
                return false;
        } else if (c != ' ' || !read_blank(r)) {
            break;
        }
    }
    end_component(r);
    bool is_type = fz_span_begins(r->text, " : ") || fz_span_begins(r->text, " -> ") ||
                   fz_span_begins(r->text, " async ") || fz_span_begins(r->text, " throws ");
    r->is_swift = r->is_swift || is_type;
    r->is_full = is_type;
    return r->name.len > 0 && !r->name.failed &&
           (r->text.len == 0 || is_type || fz_span_begins(r->text, " in "));
}
