/* Pieces in address order, each address in at most one. */
#include <string.h>

#include "symbolicator/index/builder.h"

static bool
comes_before(const struct piece *a, const struct piece *b)
{
    return a->start != b->start ? a->start < b->start : a->unit < b->unit;
}

void
pieces_sort(struct piece *pieces, size_t n, struct piece *scratch)
{
    if (n < 2)
        return;
    size_t half = n / 2;
    pieces_sort(pieces, half, scratch);
    pieces_sort(pieces + half, n - half, scratch);
    if (!comes_before(&pieces[half], &pieces[half - 1]))
        return;
    memcpy(scratch, pieces, half * sizeof(*pieces));
    size_t a = 0, b = half, to = 0;
    while (a < half) {
        if (b < n && comes_before(&pieces[b], &scratch[a]))
            pieces[to++] = pieces[b++];
        else
            pieces[to++] = scratch[a++];
    }
}

/* Cut what an earlier piece covers already; a function at the same start is told as an alias. */
static bool
cut_overlaps(struct builder *b, struct piece *pieces, size_t *n)
{
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++) {
        struct piece piece = pieces[i];
        const struct piece *last = kept ? &pieces[kept - 1] : NULL;
        if (last && piece.start < last->end) {
            const struct function *mine = &b->functions[piece.function];
            const struct function *other = &b->functions[last->function];
            if (piece.function != NO_FUNCTION && mine->start == other->start &&
                mine->name != other->name && !alias_add(b, mine->start, mine->name))
                return false;
            piece.start = last->end;
        }
        if (piece.start < piece.end)
            pieces[kept++] = piece;
    }
    *n = kept;
    return true;
}

enum fz_code
pieces_settle(struct builder *b, struct fz_error *err)
{
    size_t room = b->n_pieces > b->n_bare_pieces ? b->n_pieces : b->n_bare_pieces;
    struct piece *scratch = sym_grow_zeroed(&b->budget, room, sizeof(*scratch));
    if (!scratch)
        return sym_grow_fail(&b->budget, err);
    pieces_sort(b->pieces, b->n_pieces, scratch);
    pieces_sort(b->bare_pieces, b->n_bare_pieces, scratch);
    sym_grow_free(&b->budget, scratch, room ? room : 1, sizeof(*scratch));
    if (!cut_overlaps(b, b->pieces, &b->n_pieces) ||
        !cut_overlaps(b, b->bare_pieces, &b->n_bare_pieces))
        return sym_grow_fail(&b->budget, err);
    return FZ_OK;
}
