/*
 * What the files of the index builder share.
 *
 * A build goes through three states: unit by unit the DWARF becomes pieces (runs of one function's
 * addresses with their rows) and records; then pieces are sorted, overlaps settled and gaps filled
 * from the symbol table; then the pages are written in address order.
 */
#ifndef INDEX_BUILDER_H
#define INDEX_BUILDER_H

#include "symbolicator/dwarf/dwarf.h"
#include "symbolicator/index/record.h"
#include "symbolicator/macho/macho.h"

struct index_bytes {
    uint8_t *data;
    size_t n, room;
};

/* From `offset` on the code belongs to `record`. 16 bytes, and never copied: there are as many as
 * the line tables have rows. */
struct index_row {
    uint32_t offset;    /* from the origin of the piece */
    uint32_t record;    /* until its unit is committed the variant; see unit.h */
    uint32_t line_code; /* as in a page; until its unit is committed the line */
    uint16_t column;
};

/* The rows of a unit, as they were made. */
struct index_row_block {
    struct index_row *rows;
    size_t room;
};

struct index_piece {
    uint64_t origin;            /* row offsets count from here */
    uint64_t start, end;        /* what of it counts; overlaps are cut off */
    uint32_t first_row, n_rows; /* in the block of the unit, or with UNIT_NONE in b->rows */
    uint32_t function;          /* NO_FUNCTION: a line table without a function */
    uint32_t unit;              /* of two that overlap the lower unit wins, as in LLVM */
};

enum { NO_FUNCTION = 0 };
static const uint32_t UNIT_NONE = UINT32_MAX; /* of what only a symbol names */

struct index_function {
    uint64_t start, size;
    uint32_t name; /* in the string pool */
};

/* A row of a line table outside of any function, until a symbol gives it a name. */
struct index_bare_row {
    uint32_t offset, file, line;
    uint16_t column;
};

/* A further name of the function at `addr`; or, of a call that returns to `addr`, the name of the
 * function that it means. */
struct index_name {
    uint64_t addr;
    uint32_t name;
};

struct index_slot {
    uint32_t value; /* + 1; 0 = free */
    uint32_t hash;  /* of the key */
};

/* Open addressing over 32-bit values; the key is found through the value. */
struct index_table {
    struct index_slot *slots;
    size_t n, room; /* room is a power of two */
};

struct index_place {
    const uint8_t *data; /* a string of the input */
    uint32_t name;       /* in the string pool */
};

struct index_file {
    uint32_t directory, name;
};

/* A run of pieces as it is packed into pages, by any thread. */
struct index_page_part {
    size_t begin, end; /* pieces */
    size_t n_rows;
    struct index_bytes regions, pages, rows;
};

enum { PAGE_PARTS_MAX = 8 };

struct index_builder {
    struct fz_budget budget;
    const struct sym_macho *macho;
    struct sym_problems *problems;
    struct sym_build_stats stats;
    struct fz_arena arena; /* the symbols */
    struct sym_symbol *symbols;
    uint64_t *starts;
    size_t n_symbols, n_starts;
    size_t last_symbol; /* where index_symbol_name_at() found one last: functions come in order */
    uint64_t code_low, code_high;
    struct sym_dwarf *dwarf; /* NULL without DWARF */
    uint64_t info_size;      /* of .debug_info; 0: records have no DIEs */
    uint64_t name_steps;
    uint64_t work_left; /* what further units may cost, as index_unit_work() */
    size_t memory_cap;  /* the caller's; the budget's is that or lower */
    unsigned n_threads;
    const struct sym_symbol_map *symbol_map; /* NULL: none */
    uint64_t n_hidden;                       /* names in the pool that stay hidden */

    struct index_bytes strings, records;
    struct index_table string_table, file_table, place_table;
    struct index_file *files;
    struct index_place *places;
    struct index_function *functions;
    struct index_piece *pieces, *bare_pieces;
    struct index_row_block *blocks; /* one for each unit */
    struct index_row *rows;         /* of what only symbols name */
    size_t n_all_rows;              /* in pieces */
    uint32_t row_offsets;           /* the offsets of all of them, or'ed together */
    struct index_bare_row *bare_rows;
    struct index_name *aliases, *calls;
    size_t n_blocks, n_files, n_places, n_functions, n_pieces, n_bare_pieces, n_rows, n_bare_rows,
        n_aliases, n_calls;
    size_t room_files, room_places, room_functions, room_pieces, room_bare_pieces, room_rows,
        room_bare_rows, room_aliases, room_calls;

    struct index_page_part parts[PAGE_PARTS_MAX]; /* in the order of their addresses */
    size_t n_parts;
    unsigned unit_shift, page_shift;
};

/* build.c */
void index_builder_deinit(struct index_builder *b);

/* strings.c. All return false when the budget is exhausted. */
bool index_bytes_add(struct index_builder *b, struct index_bytes *bytes, const void *data,
                     size_t n);
/* The string's place in the pool; 0 for the empty one. Hidden names become those of the map. */
bool index_pool_string(struct index_builder *b, struct fz_span text, uint32_t *ret);
bool index_pool_file(struct index_builder *b, struct fz_span directory, struct fz_span name,
                     uint32_t *ret);
/* The string at the start of these bytes, see sym_dwarf_name_place(); 0 if it is empty or does not
 * end. */
bool index_pool_place(struct index_builder *b, struct fz_span place, uint32_t *ret);
const char *index_pool_text(const struct index_builder *b, uint32_t offset);
void index_table_deinit(struct index_builder *b, struct index_table *table);

/* records.c */
bool index_record_add(struct index_builder *b, const struct index_record *record, uint32_t *ret);
bool index_function_add(struct index_builder *b, const struct index_function *function,
                        uint32_t *ret);
/* Room for the next n of b->rows, which the caller fills in; NULL when the budget is exhausted. */
struct index_row *index_rows_reserve(struct index_builder *b, size_t n);
/* To b->pieces, or without a function to b->bare_pieces. */
bool index_piece_add(struct index_builder *b, const struct index_piece *piece);
bool index_bare_row_add(struct index_builder *b, const struct index_bare_row *row);
bool index_alias_add(struct index_builder *b, uint64_t addr, uint32_t name);
/* For qsort(): by address, then by name. */
int index_name_compare(const void *a, const void *b);
/* Ascending by address and name, each once. */
void index_aliases_sort(struct index_builder *b);

/* units.c */
FZ_MUST_CHECK enum fz_code index_units_build(struct index_builder *b, struct fz_error *err);
enum { INDEX_THREADS_MAX = 64 };
/* Call work() for `n` users, `size` bytes apart: for the first on the calling thread, for each other
 * on a thread of its own. Fewer threads than wanted are no error: workers take units or parts from a
 * shared counter until none is left. */
void index_threads_run(size_t n, void *(*work)(void *), void *users, size_t size);

/* symbols.c */
FZ_MUST_CHECK enum fz_code index_symbols_load(struct index_builder *b, struct fz_error *err);
/* The symbol at exactly this address without Mach-O's underscore: `wanted` if there is one of that
 * name, else the last of the table; empty if there is none. */
struct fz_span index_symbol_name_at(struct index_builder *b, uint64_t addr, struct fz_span wanted);
FZ_MUST_CHECK enum fz_code index_symbols_fill(struct index_builder *b, struct fz_error *err);

/* pieces.c: sort the pieces and cut overlaps, so that each address is in at most one. */
bool index_pieces_sort(struct index_builder *b, struct index_piece *pieces, size_t n);
FZ_MUST_CHECK enum fz_code index_pieces_settle(struct index_builder *b, struct fz_error *err);

/* calls.c: which function calls of folded functions name. Wants sorted pieces and aliases. */
FZ_MUST_CHECK enum fz_code index_calls_build(struct index_builder *b, struct fz_error *err);

/* pages.c */
FZ_MUST_CHECK enum fz_code index_pages_build(struct index_builder *b, struct fz_error *err);

/* write.c */
FZ_MUST_CHECK enum fz_code index_write(struct index_builder *b, int fd, struct fz_error *err);

#endif
