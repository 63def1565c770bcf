/* Pieces in address order, each address in at most one. */
#include <string.h>

#include "symbolicator/index/builder.h"

enum { STEPS_PER_PIECE = 16, STEPS_FREE = 1 << 16 };

static bool
comes_before(const struct index_piece *a, const struct index_piece *b)
{
    return a->start != b->start ? a->start < b->start : a->unit < b->unit;
}

static void
merge_sort(struct index_piece *pieces, size_t n, struct index_piece *scratch)
{
    if (n < 2)
        return;
    size_t half = n / 2;
    merge_sort(pieces, half, scratch);
    merge_sort(pieces + half, n - half, scratch);
    /* In order already, as the pieces of most files are. */
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

bool
index_pieces_sort(struct index_builder *b, struct index_piece *pieces, size_t n)
{
    struct index_piece *scratch = fz_list_zeroed(&b->budget, n, sizeof(*scratch));
    if (!scratch)
        return false;
    merge_sort(pieces, n, scratch);
    fz_list_free(&b->budget, scratch, n ? n : 1, sizeof(*scratch));
    return true;
}

/* Pieces that lost their start to another one wait here for what is left of them: a binary heap. */
struct waiting {
    struct index_builder *b;
    struct index_piece *heap;
    size_t n, room;
    size_t steps; /* real files hardly overlap, hostile ones may not make this slow */
};

static bool
wait_for_rest(struct waiting *w, const struct index_piece *piece)
{
    if (w->steps == 0)
        return true; /* dropped */
    w->steps--;
    struct index_piece *heap =
        fz_list_grow(&w->b->budget, w->heap, &w->room, w->n + 1, sizeof(*heap));
    if (!heap)
        return false;
    w->heap = heap;
    size_t at = w->n++;
    for (; at > 0 && comes_before(piece, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = *piece;
    return true;
}

static struct index_piece
pop_first(struct waiting *w)
{
    struct index_piece first = w->heap[0], last = w->heap[--w->n];
    size_t at = 0;
    for (size_t child = 1; child < w->n; child = 2 * at + 1) {
        if (child + 1 < w->n && comes_before(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!comes_before(&w->heap[child], &last))
            break;
        w->heap[at] = w->heap[child];
        at = child;
    }
    w->heap[at] = last;
    return first;
}

/* A function that begins where another one does becomes its alias. */
static bool
add_alias(struct index_builder *b, const struct index_piece *piece,
          const struct index_piece *winner)
{
    if (piece->function == NO_FUNCTION)
        return true;
    const struct index_function *mine = &b->functions[piece->function];
    const struct index_function *other = &b->functions[winner->function];
    return mine->start != other->start || mine->name == other->name ||
           index_alias_add(b, mine->start, mine->name);
}

/* Of pieces that overlap the one that begins first stays whole, or the one of the lower unit. */
static bool
cut_overlaps(struct waiting *w, struct index_piece *pieces, size_t *n)
{
    size_t kept = 0;
    for (size_t i = 0; i < *n || w->n;) {
        bool is_rest = w->n && (i == *n || comes_before(&w->heap[0], &pieces[i]));
        struct index_piece piece = is_rest ? pop_first(w) : pieces[i++];
        const struct index_piece *last = kept ? &pieces[kept - 1] : NULL;
        if (!last || piece.start >= last->end) {
            pieces[kept++] = piece;
            continue;
        }
        /* A rest no longer begins where its function does, so it cannot be an alias. */
        if (!is_rest && !add_alias(w->b, &piece, last))
            return false;
        piece.start = last->end;
        if (piece.start < piece.end && !wait_for_rest(w, &piece))
            return false;
    }
    *n = kept;
    return true;
}

enum fz_code
index_pieces_settle(struct index_builder *b, struct fz_error *err)
{
    /* The steps allow for real overlap, which is rare, in the larger of both lists. */
    size_t room = b->n_pieces > b->n_bare_pieces ? b->n_pieces : b->n_bare_pieces;
    struct waiting w = {.b = b, .steps = STEPS_FREE + STEPS_PER_PIECE * room};
    bool ok = index_pieces_sort(b, b->pieces, b->n_pieces) &&
              index_pieces_sort(b, b->bare_pieces, b->n_bare_pieces) &&
              cut_overlaps(&w, b->pieces, &b->n_pieces) &&
              cut_overlaps(&w, b->bare_pieces, &b->n_bare_pieces);
    fz_list_free(&b->budget, w.heap, w.room, sizeof(*w.heap));
    return ok ? FZ_OK : fz_budget_fail(&b->budget, err);
}
