/* A packed body out of a database that may be damaged, with a dictionary and without: unpacked within the limit, or refused. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <zdict.h>

#include "storage/store_dictionary.h"
#include "storage/store_private.h"

enum { ROOM = 64 * 1024, SAMPLES = 64 };

/* The corpus has frames that need it: {"image":"..."} in the names of this text. */
static const char text[] =
    "{\"format\":\"framezero-1\",\"app\":{\"name\":\"Shop\"},\"images\":[{\"name\":"
    "\"CoreFoundation\",\"uuid\":\"e84b3b67a31c3a7fa1e29e1e9d7c9f54\"},{\"name\":"
    "\"UIKitCore\",\"uuid\":\"1c1a5e2fbc3a3d6ab47dbbee2dd8f8c3\"}],\"threads\":[]}";

static struct store_dictionary *
make(void)
{
    static uint8_t content[ROOM];
    char samples[SAMPLES * sizeof(text)];
    size_t lens[SAMPLES], len = 0;
    struct store_dictionary *ret = NULL;
    const ZDICT_params_t params = {.compressionLevel = 1, .dictID = 40000};
    for (size_t i = 0; i < SAMPLES; i++) {
        lens[i] = sizeof(text) - 1 - i;
        memcpy(samples + len, text + i, lens[i]);
        len += lens[i];
    }
    len = ZDICT_finalizeDictionary(content, sizeof(content), text, sizeof(text) - 1, samples, lens,
                                   SAMPLES, params);
    if (ZDICT_isError(len) ||
        store_dictionary_make(fz_span_make(content, len), &ret, NULL) != FZ_OK)
        abort();
    return ret;
}

static unsigned
check(enum fz_code code, struct fz_span body, const struct fz_arena *arena)
{
    unsigned sum = 0;
    if (code != FZ_OK)
        return 0;
    for (size_t i = 0; i < body.len; i++)
        sum += body.data[i];
    if (body.len > arena->cap)
        abort();
    return sum;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct store_dictionary *fixed;
    struct fz_arena arena;
    struct fz_span body, input = fz_span_make(data, size);
    FZ_CLEANUP(store_dictionary_releasep) struct store_dictionary *damaged = NULL;
    if (!fixed)
        fixed = make();
    fz_arena_init(&arena, 4 * 1024 * 1024);
    unsigned sum = check(store_unpack(input, &arena, &body, NULL), body, &arena);
    sum += check(store_unpack_with(input, fixed, &arena, &body, NULL), body, &arena);
    /* Its checksum is looked at first, but the row's damage may be older than that. */
    if (store_dictionary_make(input, &damaged, NULL) == FZ_OK) {
        void *packed = NULL;
        size_t len = 0;
        if (store_pack_with(fz_span_make(text, sizeof(text) - 1), damaged, NULL, &packed, &len,
                            NULL) == FZ_OK)
            sum += check(store_unpack_with(fz_span_make(packed, len), damaged, &arena, &body, NULL),
                         body, &arena);
        free(packed);
    }
    fz_arena_deinit(&arena);
    return (int)(sum & 0);
}
