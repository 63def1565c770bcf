/* The string pool, the file table and what is known of strings by their place. */
#include <string.h>

#include "symbolicator/index/builder.h"
#include "symbolicator/index/format.h"
#include "symbolicator/macho/symbol_map.h"

enum { TABLE_FIRST_ROOM = 1024, PATH_ROOM = 64 };

bool
index_bytes_add(struct index_builder *b, struct index_bytes *bytes, const void *data, size_t n)
{
    if (!bytes->data || n > bytes->room - bytes->n) {
        uint8_t *grown = fz_list_grow(&b->budget, bytes->data, &bytes->room, bytes->n + n, 1);
        if (!grown)
            return false;
        bytes->data = grown;
    }
    if (n)
        memcpy(bytes->data + bytes->n, data, n);
    bytes->n += n;
    return true;
}

static uint32_t
hash_bytes(uint32_t seed, struct fz_span text)
{
    uint64_t state = seed;
    const uint8_t *p = text.data;
    size_t len = text.len;
    for (; len >= 8; p += 8, len -= 8) {
        state = (state ^ load64(p)) * 0x9e3779b97f4a7c15u;
        state ^= state >> 32;
    }
    uint64_t tail = len;
    for (; len > 0; p++, len--)
        tail = tail << 8 | *p;
    state = (state ^ tail) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(state ^ state >> 32);
}

static uint32_t
hash_number(uint64_t value)
{
    /* Fibonacci hashing: 2^64 divided by the golden ratio; the high bits are the well mixed
     * ones. */
    value *= 0x9e3779b97f4a7c15u;
    return (uint32_t)(value >> 32);
}

/* Room for one more; false when the budget is exhausted. */
static bool
table_reserve(struct index_builder *b, struct index_table *table)
{
    /* Above three quarters chains of linear probing get long. */
    if (table->room && table->n < table->room / 4 * 3)
        return true;
    size_t room = table->room ? table->room * 2 : TABLE_FIRST_ROOM;
    struct index_slot *slots = fz_list_zeroed(&b->budget, room, sizeof(*slots));
    if (!slots)
        return false;
    for (size_t i = 0; i < table->room; i++) {
        if (!table->slots[i].value)
            continue;
        size_t at = table->slots[i].hash & (room - 1);
        /* The hashes are kept, so that growing does not read the strings again. */
        while (slots[at].value)
            at = (at + 1) & (room - 1);
        slots[at] = table->slots[i];
    }
    size_t n = table->n;
    index_table_deinit(b, table);
    *table = (struct index_table){.slots = slots, .n = n, .room = room};
    return true;
}

void
index_table_deinit(struct index_builder *b, struct index_table *table)
{
    fz_list_free(&b->budget, table->slots, table->room, sizeof(*table->slots));
    *table = (struct index_table){NULL, 0, 0};
}

static void
table_set(struct index_table *table, size_t at, uint32_t hash, size_t value)
{
    table->slots[at] = (struct index_slot){.value = (uint32_t)value + 1, .hash = hash};
    table->n++;
}

const char *
index_pool_text(const struct index_builder *b, uint32_t offset)
{
    return (const char *)b->strings.data + offset;
}

static bool
string_is(const struct index_builder *b, size_t at, struct fz_span text)
{
    return b->strings.n - at > text.len &&
           (text.len == 0 || memcmp(b->strings.data + at, text.data, text.len) == 0) &&
           b->strings.data[at + text.len] == 0;
}

bool
index_pool_string(struct index_builder *b, struct fz_span text, uint32_t *ret)
{
    if (text.len == 0) {
        *ret = 0;
        return true;
    }
    /* Both names of DWARF and names of symbols get here. */
    text = sym_symbol_map_name(b->symbol_map, text);
    /* Before the search: growing moves the slots. */
    if (!table_reserve(b, &b->string_table))
        return false;
    struct index_table *table = &b->string_table;
    uint32_t hash = hash_bytes(1, text);
    size_t mask = table->room - 1, at = hash & mask;
    for (; table->slots[at].value; at = (at + 1) & mask) {
        uint32_t offset = table->slots[at].value - 1;
        if (table->slots[at].hash == hash && string_is(b, offset, text)) {
            *ret = offset;
            return true;
        }
    }
    size_t offset = b->strings.n;
    /* Places of strings have 32 bits in the index. */
    if (offset + text.len >= UINT32_MAX - 1) {
        b->budget.over = true;
        return false;
    }
    if (!index_bytes_add(b, &b->strings, text.data, text.len) ||
        !index_bytes_add(b, &b->strings, "", 1))
        return false;
    table_set(table, at, hash, offset);
    /* Names that no map restored: reported at the end of the build. */
    b->n_hidden += sym_symbol_map_is_hidden(text);
    *ret = (uint32_t)offset;
    return true;
}

bool
index_pool_file(struct index_builder *b, struct fz_span directory, struct fz_span name,
                uint32_t *ret)
{
    struct index_file file;
    if (!index_pool_string(b, directory, &file.directory) ||
        !index_pool_string(b, name, &file.name) || !table_reserve(b, &b->file_table))
        return false;
    struct index_table *table = &b->file_table;
    uint32_t hash = hash_number((uint64_t)file.directory << 32 | file.name);
    size_t mask = table->room - 1, at = hash & mask;
    for (; table->slots[at].value; at = (at + 1) & mask) {
        const struct index_file *known = &b->files[table->slots[at].value - 1];
        if (known->directory == file.directory && known->name == file.name) {
            *ret = table->slots[at].value - 1;
            return true;
        }
    }
    struct index_file *files =
        fz_list_grow(&b->budget, b->files, &b->room_files, b->n_files + 2, sizeof(*files));
    if (!files)
        return false;
    b->files = files;
    if (b->n_files >= RECORD_FILES_MAX - 1) {
        b->budget.over = true;
        return false;
    }
    if (b->n_files == 0)
        files[b->n_files++] = (struct index_file){0, 0}; /* file 0 means no file */
    files[b->n_files] = file;
    table_set(table, at, hash, b->n_files);
    *ret = (uint32_t)b->n_files++;
    return true;
}

/* The string's place in .debug_str is looked for first: linkers write each string once, and reading
 * a name that is known costs more than all else about it. */
bool
index_pool_place(struct index_builder *b, struct fz_span place, uint32_t *ret)
{
    *ret = 0;
    if (place.len == 0)
        return true;
    if (!table_reserve(b, &b->place_table))
        return false;
    struct index_table *table = &b->place_table;
    uint32_t hash = hash_number((uint64_t)(uintptr_t)place.data);
    size_t mask = table->room - 1, at = hash & mask;
    for (; table->slots[at].value; at = (at + 1) & mask) {
        const struct index_place *known = &b->places[table->slots[at].value - 1];
        if (table->slots[at].hash == hash && known->data == place.data) {
            *ret = known->name;
            return true;
        }
    }
    const uint8_t *nul = memchr(place.data, 0, place.len);
    struct index_place *places =
        fz_list_grow(&b->budget, b->places, &b->room_places, b->n_places + 1, sizeof(*places));
    if (!places)
        return false;
    b->places = places;
    if (nul && !index_pool_string(b, fz_span_make(place.data, (size_t)(nul - place.data)), ret))
        return false;
    places[b->n_places] = (struct index_place){.data = place.data, .name = *ret};
    table_set(table, at, hash, b->n_places++);
    return true;
}
