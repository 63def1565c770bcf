/*
 * Printing a tree: the walk with its limits, names and contexts.
 */
#include "symbolicator/demangle/swift/print.h"

#include <inttypes.h>

enum { DEPTH_MAX = 400 };

void
sym_swift_print_text(struct sym_swift_printer *p, const char *text)
{
    if (text)
        fz_buffer_text(p->out, text);
}

void
sym_swift_print_span(struct sym_swift_printer *p, struct fz_span text)
{
    if (text.len > 0)
        fz_buffer_append(p->out, text.data, text.len);
}

void
sym_swift_print_number(struct sym_swift_printer *p, int64_t number)
{
    fz_buffer_printf(p->out, "%" PRId64, number);
}

void
sym_swift_print_children(struct sym_swift_printer *p, const struct sym_swift_node *node,
                         uint32_t from, uint32_t to, const char *separator)
{
    for (uint32_t i = from; i < to && i < node->n_children && !p->failed; i++) {
        if (i > from)
            sym_swift_print_text(p, separator);
        sym_swift_print(p, node->children[i]);
    }
}

void
sym_swift_print_before(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    sym_swift_print_text(p, p->kinds[node->kind].before);
}

bool
sym_swift_print_is(const struct sym_swift_printer *p, const struct sym_swift_node *node,
                   enum sym_swift_flag flag)
{
    return node && (p->kinds[node->kind].flags & (unsigned)flag) != 0;
}

/* Text and children with the texts of their kind around and between them. */
static void
print_plain(struct sym_swift_printer *p, const struct sym_swift_node *node,
            const struct sym_swift_kind_info *info)
{
    sym_swift_print_text(p, info->before);
    sym_swift_print_span(p, node->text);
    if (node->text.len > 0 && node->n_children > 0)
        sym_swift_print_text(p, info->between);
    sym_swift_print_children(p, node, 0, node->n_children, info->between);
    sym_swift_print_text(p, info->after);
}

static const struct sym_swift_node *
print_node(struct sym_swift_printer *p, const struct sym_swift_node *node, bool as_prefix)
{
    const struct sym_swift_node *postfix = NULL;
    /* failure is sticky: what follows would be thrown away */
    if (p->failed)
        return NULL;
    if (!node || p->depth >= DEPTH_MAX || *p->steps == 0 || p->out->failed) {
        p->failed = true;
        return NULL;
    }
    const struct sym_swift_kind_info *info = &p->kinds[node->kind];
    --*p->steps;
    p->depth++;
    if (info->flags & (SWIFT_F_ENTITY | SWIFT_F_OF_STORAGE))
        postfix = p->print_entity(p, node, as_prefix);
    else if (info->print)
        info->print(p, node);
    else if (p->simplified && info->flags & SWIFT_F_LONG_ONLY)
        postfix = NULL;
    else if (info->format)
        sym_swift_print_format(p, node, info->format);
    else
        print_plain(p, node, info);
    p->depth--;
    return postfix;
}

void
sym_swift_print(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    fz_ignore(print_node(p, node, false)); /* nothing is left over unless asked for a prefix */
}

const struct sym_swift_node *
sym_swift_print_prefix(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    return print_node(p, node, true);
}

void
sym_swift_print_format(struct sym_swift_printer *p, const struct sym_swift_node *node,
                       const char *format)
{
    for (const char *open; (open = strchr(format, '{')); format = open + 3) {
        sym_swift_print_span(p, fz_span_make(format, (size_t)(open - format)));
        if (open[1] == 'i')
            sym_swift_print_number(p, node->index);
        else if (open[1] == 't')
            sym_swift_print_span(p, node->text);
        else
            sym_swift_print(p, sym_swift_node_child(node, (uint32_t)(open[1] - '0')));
    }
    sym_swift_print_text(p, format);
}

void
sym_swift_print_local_name(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    sym_swift_print_format(p, node, "{0} #");
    sym_swift_print_number(p, node->index + 1);
}

void
sym_swift_print_private_name(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    bool named = node->n_children > 0;
    if (named && !p->simplified)
        sym_swift_print_text(p, "(");
    sym_swift_print_children(p, node, 0, 1, NULL);
    if (p->simplified)
        return;
    sym_swift_print_text(p, named ? " in " : "(in ");
    sym_swift_print_span(p, node->text);
    sym_swift_print_text(p, ")");
}

void
sym_swift_print_module(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    if (!p->simplified)
        sym_swift_print_span(p, node->text);
}

/* One byte of a string literal as Swift prints it; bytes beyond ASCII are parts of characters. */
static void
print_quoted(struct sym_swift_printer *p, uint8_t c)
{
    const char *escape = c == '\\'   ? "\\\\"
                         : c == '"'  ? "\\\""
                         : c == '\t' ? "\\t"
                         : c == '\n' ? "\\n"
                         : c == '\r' ? "\\r"
                                     : NULL;
    if (escape)
        sym_swift_print_text(p, escape);
    else if (c < 0x20 || c == 0x7f)
        fz_buffer_printf(p->out, "\\x%02X", c);
    else
        fz_buffer_char(p->out, (char)c);
}

void
sym_swift_print_suffix(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    if (p->simplified)
        return;
    sym_swift_print_text(p, " with unmangled suffix \"");
    for (size_t i = 0; i < node->text.len; i++)
        print_quoted(p, node->text.data[i]);
    sym_swift_print_text(p, "\"");
}

void
sym_swift_print_extension(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    if (!p->simplified)
        sym_swift_print_format(p, node, "(extension in {0}):");
    sym_swift_print_children(p, node, 1, 3, NULL);
}

void
sym_swift_print_anonymous(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    const struct sym_swift_node *types = sym_swift_node_child(node, 2);
    if (p->simplified)
        return;
    sym_swift_print_format(p, node, "{1}.(unknown context at {0})");
    if (types && types->n_children > 0)
        sym_swift_print_format(p, node, "<{2}>");
}
