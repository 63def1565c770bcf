/*
 * A column of many rows as one parameter.
 *
 * PostgreSQL's array_recv() takes: dimensions, "has NULLs", the type of the elements, then for the dimension its size and lower
 * bound, then each element as a length (-1 for NULL) and its bytes. All of it is big-endian. The array {7} of bigint is
 *
 *     00000001 00000000 00000014  00000001 00000001  00000008 0000000000000007
 */
#include "storage/sql/sql.h"

/* Types of elements in PostgreSQL's pg_type catalogue. */
static const uint32_t types[] = {[SQL_INT] = 20, [SQL_TEXT] = 25, [SQL_BLOB] = 17};

static void
put(struct fz_buffer *buffer, uint64_t value, size_t len)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)(value >> (8 * (len - 1 - i)));
    fz_buffer_append(buffer, bytes, len);
}

struct sql_array
sql_array_make(enum sql_kind kind)
{
    struct sql_array array = {.kind = kind, .elements = fz_buffer_make(INT32_MAX / 2)};
    return array;
}

void
sql_array_deinit(struct sql_array *array)
{
    fz_buffer_deinit(&array->elements);
}

void
sql_array_add(struct sql_array *array, struct sql_value value)
{
    struct fz_buffer *to = &array->elements;
    /* The header is before the first element; how many there are is known at the end. */
    if (array->n == 0) {
        put(to, 1, 4);
        put(to, 1, 4);
        put(to, types[array->kind], 4);
        put(to, 0, 4);
        put(to, 1, 4);
    }
    array->n++;
    if (value.is_null) {
        put(to, UINT32_MAX, 4);
    } else if (value.kind == SQL_INT) {
        put(to, sizeof(value.number), 4);
        put(to, (uint64_t)value.number, sizeof(value.number));
    } else {
        put(to, value.bytes.len, 4);
        fz_buffer_append(to, value.bytes.data, value.bytes.len);
    }
}

struct sql_value
sql_array_value(struct sql_array *array)
{
    enum { SIZE_AT = 12 };
    if (array->elements.failed)
        return (struct sql_value){.kind = SQL_BAD};
    for (int i = 0; array->n && i < 4; i++)
        array->elements.data[SIZE_AT + i] = (char)(array->n >> (24 - 8 * i));
    return (struct sql_value){.kind = SQL_ARRAY,
                              .number = array->kind,
                              .bytes = fz_span_make(array->elements.data, array->elements.len)};
}
