/*
 * Enumerations: "KIND_ADMIN (7)", sets of flags as "READ | WRITE (3)", and the number alone where
 * no enumerator has it.
 */
#include "symbolicator/variables/value.h"

enum { ENUMERATORS_MAX = 4096, FLAGS_MAX = 64 };

/* The enumerators as far as a value needs them. */
struct search {
    uint64_t number, mask; /* mask: of the bits that the type has */
    struct fz_span exact;
    struct {
        struct fz_span name;
        uint64_t bits;
    } flags[FLAGS_MAX];
    unsigned n_flags;
    bool is_set; /* every enumerator is one bit, 0, or made of bits that others have */
    uint64_t bits;
};

static void
look_at(struct search *search, struct fz_span name, uint64_t number)
{
    if (number == search->number && search->exact.len == 0)
        search->exact = name;
    bool is_bit = number && (number & (number - 1)) == 0;
    if (!is_bit) {
        if (number & ~search->bits)
            search->is_set = false;
        return;
    }
    search->bits |= number;
    if ((search->number & number) && search->n_flags < FLAGS_MAX) {
        search->flags[search->n_flags].name = name;
        search->flags[search->n_flags++].bits = number;
    }
}

void
variables_enum_number(struct variables_value *value, const struct variables_type *type,
                      uint64_t number, unsigned bits, struct sym_variable *out)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(VARIABLES_TEXT_MAX);
    struct search search = {.is_set = true, .mask = bits >= 64 ? UINT64_MAX : (1ull << bits) - 1};
    struct variables_die at;
    search.number = number & search.mask;
    unsigned n = 0;
    for (bool more = variables_die_child(&type->die, &at); more && n < ENUMERATORS_MAX;
         more = variables_die_next(&at, &at), n++) {
        struct variables_attr attr;
        int64_t constant;
        if (variables_die_tag(&at) == TAG_ENUMERATOR &&
            variables_die_attr(&at, AT_CONST_VALUE, &attr) && variables_attr_int(&attr, &constant))
            look_at(&search, variables_die_string(&at, AT_NAME), (uint64_t)constant & search.mask);
    }
    bool is_signed = type->encoding == ATE_SIGNED || type->encoding == ATE_SIGNED_CHAR;
    uint64_t sign = bits < 64 ? 1ull << (bits - 1) : 0, covered = 0;
    for (unsigned i = 0; i < search.n_flags; i++)
        covered |= search.flags[i].bits;
    if (search.exact.len) {
        fz_buffer_append(&text, search.exact.data, search.exact.len);
    } else if (search.is_set && search.n_flags && covered == search.number) {
        for (unsigned i = 0; i < search.n_flags; i++) {
            fz_buffer_text(&text, i ? " | " : "");
            fz_buffer_append(&text, search.flags[i].name.data, search.flags[i].name.len);
        }
    }
    const char *open = text.len ? " (" : "", *close = text.len ? ")" : "";
    if (is_signed)
        fz_buffer_printf(&text, "%s%lld%s", open, (long long)((search.number ^ sign) - sign),
                         close);
    else
        fz_buffer_printf(&text, "%s%llu%s", open, (unsigned long long)search.number, close);
    variables_value_text(value, out, fz_buffer_cstr(&text));
}
