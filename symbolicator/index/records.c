/* The growing arrays of a build and the encoding of records. */
#include <stdlib.h>
#include <string.h>

#include "symbolicator/index/builder.h"
#include "symbolicator/index/record.h"

bool
index_record_add(struct index_builder *b, const struct index_record *r, uint32_t *ret)
{
    /* Rows refer to records by 32-bit places. */
    if (b->records.n > UINT32_MAX - 2 * INDEX_RECORDS_SPARE) {
        b->budget.over = true;
        return false;
    }
    /* Room for the longest record: encoding then needs no checks. */
    uint8_t *grown = fz_list_grow(&b->budget, b->records.data, &b->records.room,
                                  b->records.n + INDEX_RECORDS_SPARE, 1);
    if (!grown)
        return false;
    b->records.data = grown;
    *ret = (uint32_t)b->records.n;
    b->records.n = (size_t)(index_record_encode(r, *ret, grown + *ret) - grown);
    return true;
}

bool
index_function_add(struct index_builder *b, const struct index_function *function, uint32_t *ret)
{
    struct index_function *functions = fz_list_grow(&b->budget, b->functions, &b->room_functions,
                                                    b->n_functions + 2, sizeof(*functions));
    if (!functions || b->n_functions >= UINT32_MAX - 2)
        return false;
    b->functions = functions;
    if (b->n_functions == 0)
        functions[b->n_functions++] = (struct index_function){0, 0, 0}; /* NO_FUNCTION */
    *ret = (uint32_t)b->n_functions;
    functions[b->n_functions++] = *function;
    return true;
}

struct index_row *
index_rows_reserve(struct index_builder *b, size_t n)
{
    /* Pieces number their rows with 32 bits. */
    if (n > UINT32_MAX - 1 - b->n_rows)
        return NULL;
    struct index_row *rows =
        fz_list_grow(&b->budget, b->rows, &b->room_rows, b->n_rows + n, sizeof(*rows));
    if (!rows)
        return NULL;
    b->rows = rows;
    b->n_rows += n;
    b->n_all_rows += n;
    return rows + b->n_rows - n;
}

bool
index_piece_add(struct index_builder *b, const struct index_piece *piece)
{
    bool is_bare = piece->function == NO_FUNCTION;
    struct index_piece **list = is_bare ? &b->bare_pieces : &b->pieces;
    size_t *n = is_bare ? &b->n_bare_pieces : &b->n_pieces;
    struct index_piece *pieces =
        fz_list_grow(&b->budget, *list, is_bare ? &b->room_bare_pieces : &b->room_pieces, *n + 1,
                     sizeof(*pieces));
    if (!pieces)
        return false;
    *list = pieces;
    pieces[(*n)++] = *piece;
    return true;
}

bool
index_bare_row_add(struct index_builder *b, const struct index_bare_row *row)
{
    if (b->n_bare_rows >= UINT32_MAX - 1)
        return false;
    struct index_bare_row *rows = fz_list_grow(&b->budget, b->bare_rows, &b->room_bare_rows,
                                               b->n_bare_rows + 1, sizeof(*rows));
    if (!rows)
        return false;
    b->bare_rows = rows;
    rows[b->n_bare_rows++] = *row;
    return true;
}

bool
index_alias_add(struct index_builder *b, uint64_t addr, uint32_t name)
{
    struct index_name *aliases =
        fz_list_grow(&b->budget, b->aliases, &b->room_aliases, b->n_aliases + 1, sizeof(*aliases));
    if (!aliases)
        return false;
    b->aliases = aliases;
    aliases[b->n_aliases++] = (struct index_name){.addr = addr, .name = name};
    return true;
}

int
index_name_compare(const void *a, const void *b)
{
    const struct index_name *x = a, *y = b;
    if (x->addr != y->addr)
        return x->addr < y->addr ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

void
index_aliases_sort(struct index_builder *b)
{
    size_t kept = 0;
    if (b->n_aliases)
        qsort(b->aliases, b->n_aliases, sizeof(*b->aliases), index_name_compare);
    for (size_t i = 0; i < b->n_aliases; i++) {
        /* A name may come from the symbol table and from DWARF. */
        if (!kept || index_name_compare(&b->aliases[kept - 1], &b->aliases[i]) != 0)
            b->aliases[kept++] = b->aliases[i];
    }
    b->n_aliases = kept;
}
