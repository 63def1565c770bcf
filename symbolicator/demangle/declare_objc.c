/*
 * Methods of Objective-C, and blocks as sym_demangle() writes them.
 *
 *   -[Cart(Adding) add:]        ->  -[Cart add:]        the runtime does not know categories
 *   -[_TtC4Shop4Cart add:]      ->  -[Cart add:]        in module Shop: a class that Swift wrote
 *   -[Shop.Cart add:]           ->  the same
 *   main (block 2)              ->  main
 */
#include "symbolicator/demangle/declare.h"

#include "base/text.h"
#include "symbolicator/demangle/language.h"

/* The class as Swift's source has it: "_TtC4Shop4Cart" and "Shop.Cart" to "Cart", and its module. */
static void
put_class(struct fz_span class, struct sym_declared *to)
{
    static const struct sym_demangle_options full = {.simplified = false};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer name = fz_buffer_make(0);
    fz_buffer_append(&name, class.data, class.len);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer demangled = fz_buffer_make(0);
    if (fz_span_begins(class, "_Tt") && class.len <= DEMANGLE_NAME_MAX &&
        sym_demangle_swift(fz_buffer_cstr(&name), &full, &demangled))
        class = fz_buffer_span(&demangled);
    const uint8_t *dot = class.len > 0 ? memchr(class.data, '.', class.len) : NULL;
    size_t module_len = dot ? (size_t)(dot - class.data) : 0;
    /* A private class has its file in its name: "Shop.(Cart in _1234)". */
    struct fz_span own = fz_span_from(class, dot ? module_len + 1 : 0);
    size_t in = fz_span_begins(own, "(") ? fz_text_find(own, " in ") : SIZE_MAX;
    if (in != SIZE_MAX)
        own = fz_span_between(own, 1, in);
    fz_buffer_append(&to->module, class.data, module_len);
    fz_buffer_append(&to->name, own.data, own.len);
}

bool
sym_declare_objc_text(struct fz_span text, struct sym_declared *to)
{
    if (!fz_span_begins(text, "-[") && !fz_span_begins(text, "+["))
        return false;
    size_t blank = fz_text_find(text, " "), end = fz_text_find_last(text, "]");
    if (blank == SIZE_MAX || end == SIZE_MAX || blank > end)
        return false;
    struct fz_span class = fz_span_between(text, 2, blank);
    size_t category = fz_text_find(class, "(");
    if (category != SIZE_MAX && category > 0)
        class = fz_span_until(class, category);
    to->language = SYM_OBJC;
    fz_buffer_append(&to->name, text.data, 2);
    put_class(class, to);
    fz_buffer_append(&to->name, text.data + blank, end + 1 - blank);
    return true;
}

struct fz_span
sym_declared_without_block(struct fz_span text, struct sym_declared *to)
{
    size_t at = fz_text_find_last(text, " (block");
    if (at == SIZE_MAX || at == 0 || !fz_span_ends(text, ")"))
        return text;
    struct fz_span number = fz_span_between(text, at + sizeof(" (block") - 1, text.len - 1);
    for (size_t i = 0; i < number.len; i++) {
        uint8_t c = number.data[i];
        if (i == 0 ? c != ' ' : c < '0' || c > '9')
            return text;
    }
    sym_declared_note(to, "block");
    sym_declared_note_span(to, number);
    sym_declared_note(to, "in");
    return fz_span_until(text, at);
}
