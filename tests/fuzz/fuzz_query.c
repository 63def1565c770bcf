/* Any bytes as a query: what is read prints to a text that is read and printed the same; completion and evaluation take any
 * bytes, too. The first byte is the cursor. */
#include <stdlib.h>

#include "server/query/query.h"

static const int64_t now = 1795402800000;

static void
check(const struct store_query *query, struct fz_arena *arena)
{
    static const struct query_fact facts[] = {
        {.field = STORE_FIELD_OS, .text = "iOS"},
        {.field = STORE_FIELD_OS_VERSION, .text = "18.1"},
        {.field = STORE_FIELD_VERSION, .text = "4.2 (4201)"},
        {.field = STORE_FIELD_REASON, .text = "unrecognized selector"},
        {.field = STORE_FIELD_TAG, .name = "channel", .text = "beta"},
        {.field = STORE_FIELD_RECEIVED, .number = 1795316400000},
    };
    struct query_record record = {facts, FZ_ARRAY_LEN(facts)};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer first = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer second = fz_buffer_make(0);
    struct store_query again;
    query_print(query, &first);
    /* Absolute times and quotes may make a text longer than is read. */
    if (first.len > STORE_QUERY_TEXT)
        return;
    if (query_parse(fz_buffer_span(&first), now, arena, &again, NULL) != FZ_OK)
        abort();
    query_print(&again, &second);
    if (!fz_span_equal(fz_buffer_span(&first), fz_buffer_span(&second)) ||
        query_matches(query, &record) != query_matches(&again, &record))
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(3 * QUERY_ARENA);
    struct store_query query;
    struct query_completion completion;
    if (size < 1)
        return 0;
    struct fz_span text = fz_span_from(fz_span_make(data, size), 1);
    if (query_parse(text, now, &arena, &query, NULL) == FZ_OK)
        check(&query, &arena);
    if (query_complete(text, data[0], &arena, &completion, NULL) != FZ_OK)
        abort();
    if (completion.start > text.len)
        abort();
    return 0;
}
