/* The growing arrays of a build and the encoding of records. */
#include <string.h>

#include "symbolicator/index/builder.h"
#include "symbolicator/index/format.h"

bool
record_add(struct builder *b, const struct record *r, uint32_t *ret)
{
    struct bytes *out = &b->records;
    static const uint8_t none = 0;
    if (out->n == 0 && !bytes_add(b, out, &none, 1))
        return false;
    if (out->n > UINT32_MAX - 2 * INDEX_RECORDS_SPARE) {
        b->budget.over = true;
        return false;
    }
    uint32_t at = (uint32_t)out->n;
    bool has_call_file = r->is_inlined && r->call_file != r->caller_file;
    uint8_t flags =
        (uint8_t)((r->is_inlined ? RECORD_INLINED : 0) | (has_call_file ? RECORD_CALL_FILE : 0) |
                  (r->has_rows ? RECORD_ROWS : 0) | (int)r->source << RECORD_SOURCE_SHIFT);
    bool ok = bytes_add(b, out, &flags, 1);
    if (r->is_inlined) {
        ok = ok && bytes_leb(b, out, at - r->caller) && bytes_leb(b, out, r->name) &&
             bytes_leb(b, out, r->call_line) && bytes_leb(b, out, r->call_column) &&
             (!has_call_file || bytes_leb(b, out, r->call_file));
    } else {
        ok = ok && bytes_leb(b, out, r->name) && bytes_leb(b, out, r->start - b->code_low) &&
             bytes_leb(b, out, r->size);
    }
    if (r->has_rows)
        ok = ok && bytes_leb(b, out, r->file) && bytes_leb(b, out, r->base_line);
    *ret = at;
    return ok;
}

bool
function_add(struct builder *b, const struct function *function, uint32_t *ret)
{
    struct function *functions = sym_grow(&b->budget, b->functions, &b->room_functions,
                                          b->n_functions + 2, sizeof(*functions));
    if (!functions || b->n_functions >= UINT32_MAX - 2)
        return false;
    b->functions = functions;
    if (b->n_functions == 0)
        functions[b->n_functions++] = (struct function){0, 0, 0}; /* NO_FUNCTION */
    *ret = (uint32_t)b->n_functions;
    functions[b->n_functions++] = *function;
    return true;
}

bool
row_add(struct builder *b, const struct row *row)
{
    if (b->n_rows == b->room_rows || !b->rows) {
        struct row *rows =
            b->n_rows >= UINT32_MAX - 1
                ? NULL
                : sym_grow(&b->budget, b->rows, &b->room_rows, b->n_rows + 1, sizeof(*rows));
        if (!rows)
            return false;
        b->rows = rows;
    }
    b->rows[b->n_rows++] = *row;
    return true;
}

bool
piece_add(struct builder *b, const struct piece *piece)
{
    struct piece *pieces =
        sym_grow(&b->budget, b->pieces, &b->room_pieces, b->n_pieces + 1, sizeof(*pieces));
    if (!pieces)
        return false;
    b->pieces = pieces;
    pieces[b->n_pieces++] = *piece;
    return true;
}

bool
bare_row_add(struct builder *b, const struct bare_row *row)
{
    if (b->n_bare_rows >= UINT32_MAX - 1)
        return false;
    struct bare_row *rows =
        sym_grow(&b->budget, b->bare_rows, &b->room_bare_rows, b->n_bare_rows + 1, sizeof(*rows));
    if (!rows)
        return false;
    b->bare_rows = rows;
    rows[b->n_bare_rows++] = *row;
    return true;
}

bool
bare_piece_add(struct builder *b, const struct piece *piece)
{
    struct piece *pieces = sym_grow(&b->budget, b->bare_pieces, &b->room_bare_pieces,
                                    b->n_bare_pieces + 1, sizeof(*pieces));
    if (!pieces)
        return false;
    b->bare_pieces = pieces;
    pieces[b->n_bare_pieces++] = *piece;
    return true;
}

bool
alias_add(struct builder *b, uint64_t addr, uint32_t name)
{
    struct alias *aliases =
        sym_grow(&b->budget, b->aliases, &b->room_aliases, b->n_aliases + 1, sizeof(*aliases));
    if (!aliases)
        return false;
    b->aliases = aliases;
    aliases[b->n_aliases++] = (struct alias){.addr = addr, .name = name};
    return true;
}
