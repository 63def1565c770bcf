/*
 * The declaration of a Swift function, from its readable text: reports that were symbolicated on a
 * device have nothing else.
 *
 *   closure #1 in static Cart.add(_:)                                          simplified
 *   closure #1 (Swift.Int) -> () in static Shop.Cart.add(Swift.Int) -> ()      in full
 *
 * Words before an entity are wrappers, as in declare.c. An entity is a path with the labels of its
 * parameters; after " in " comes what it is local to. A path begins with the module if its type
 * follows it, which only the full form has.
 */
#include "symbolicator/demangle/swift/text.h"

#include "base/text.h"

enum { PARTS_MAX = 32 }; /* each may search the whole text */

static enum sym_swift_text_result
read_part(struct sym_swift_text *r)
{
    static const char defer[] = "$defer(";
    enum sym_swift_text_result result = sym_swift_text_unwrap(r);
    if (result != SWIFT_TEXT_DECLARED)
        return result;
    if (r->witness_type.len > 0) {
        struct sym_swift_text type = {
            .text = r->witness_type, .to = r->to, .name = fz_buffer_make(0)};
        bool done = sym_swift_text_entity(&type);
        fz_buffer_append(&r->name, type.name.data, type.name.len);
        fz_buffer_deinit(&type.name);
        if (!done)
            return SWIFT_TEXT_OTHER;
        fz_buffer_char(&r->name, '.');
    }
    size_t start = r->name.len;
    if (!sym_swift_text_entity(r))
        return SWIFT_TEXT_OTHER;
    if (fz_span_begins(fz_span_from(fz_buffer_span(&r->name), start), defer)) {
        sym_swift_text_note(r, fz_span_cstr("defer in"));
        r->n_wrappers++;
        fz_buffer_clear(&r->name);
    }
    r->is_local = r->is_local || r->n_wrappers > 0;
    return SWIFT_TEXT_DECLARED;
}

/* What is known of the text so far. */
struct declaration {
    struct sym_declared *to;
    struct fz_buffer entity; /* not written yet, because a type may come before it */
    bool is_static, is_swift, is_full;
};

/* In full, the outermost part begins with its module. */
static void
take_module(struct declaration *d, struct sym_swift_text *part)
{
    struct fz_span name = fz_buffer_span(&part->name);
    size_t dot = fz_text_find(fz_span_until(name, fz_text_find(name, "(")), ".");
    if (!d->is_full || dot == SIZE_MAX)
        return;
    struct fz_span module = fz_span_until(name, dot);
    /* What C declares is in none; an extension has its own. */
    if (d->to->module.len == 0 && !fz_span_is(module, "__C") &&
        !fz_span_is(module, "__C_Synthesized"))
        fz_buffer_append(&d->to->module, module.data, module.len);
    memmove(part->name.data, part->name.data + dot + 1, part->name.len - dot); /* and the NUL */
    part->name.len -= dot + 1;
}

static void
put_entity(struct declaration *d)
{
    struct fz_buffer *name = &d->to->name;
    if (d->entity.len == 0)
        return;
    if (name->len > 0)
        fz_buffer_text(name, " in ");
    if (d->is_static)
        fz_buffer_text(name, "static ");
    fz_buffer_append(name, d->entity.data, d->entity.len);
    fz_buffer_clear(&d->entity);
}

static void
add_part(struct declaration *d, struct sym_swift_text *part)
{
    bool is_type = !part->is_local && d->entity.len > 0;
    d->is_swift = d->is_swift || part->is_swift || part->is_static || part->n_wrappers > 0;
    if (is_type) { /* "zim() in Collection #2": a member */
        fz_buffer_char(&part->name, '.');
        fz_buffer_append(&part->name, d->entity.data, d->entity.len);
        fz_buffer_clear(&d->entity);
    } else {
        put_entity(d);
        d->is_static = part->is_static && part->is_function;
    }
    fz_buffer_append(&d->entity, part->name.data, part->name.len);
}

static enum sym_swift_text_result
read_parts(struct declaration *d, struct fz_span text)
{
    for (size_t i = 0; i < PARTS_MAX; i++) {
        struct sym_swift_text part = {.text = text, .to = d->to, .noting = i == 0};
        part.name = fz_buffer_make(0);
        enum sym_swift_text_result result = read_part(&part);
        text = part.text;
        size_t at = sym_swift_text_find(text, " in ");
        d->is_full = d->is_full || part.is_full;
        if (at == SIZE_MAX)
            take_module(d, &part);
        if (result == SWIFT_TEXT_DECLARED)
            add_part(d, &part);
        fz_buffer_deinit(&part.name);
        if (result != SWIFT_TEXT_DECLARED || at == SIZE_MAX)
            return result;
        text = fz_span_from(text, at + sizeof(" in ") - 1);
    }
    return SWIFT_TEXT_OTHER; /* nothing that a compiler makes */
}

bool
sym_declare_swift_text(struct fz_span text, struct sym_declared *to)
{
    /* Names of C++ that have no "::". */
    if (fz_span_begins(text, "operator"))
        return false;
    struct declaration d = {.to = to};
    d.entity = fz_buffer_make(0);
    enum sym_swift_text_result result = read_parts(&d, text);
    put_entity(&d);
    fz_buffer_deinit(&d.entity);
    if (result == SWIFT_TEXT_NONE) {
        sym_declared_clear(to);
        fz_buffer_append(&to->name, text.data, text.len);
        to->is_real = false;
    } else if (result == SWIFT_TEXT_OTHER || !d.is_swift || to->name.len == 0) {
        return false;
    }
    to->language = SYM_SWIFT;
    return true;
}
