/* Whatever the scanner lets through, jansson reads, our builder as jansson does; and it reads the same twice. */
#include <stdlib.h>
#include <string.h>

#include "base/json/build.h"
#include "base/json/scan.h"
#include "base/json/walk.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct json_scan_limits limits = {64, 1 << 22, 0};
    struct fz_span in = fz_span_make(data, size);
    struct fz_buffer once, twice;
    struct json_scan_notes notes;
    struct fz_error err = {.offset = 0};
    fz_buffer_init(&once, 0);
    fz_buffer_init(&twice, 0);
    /* The walk takes bytes of any kind. */
    struct json_walk walk = json_walk_start(in);
    struct json_member member;
    while (json_walk_next(&walk, &member))
        ;
    if (json_scan(in, &limits, &once, NULL, &err) != FZ_OK) {
        if (err.offset < 0 || (size_t)err.offset > size || once.len != 0)
            abort();
    } else {
        json_t *tree = json_loadb(once.data, once.len, JSON_DECODE_ANY, NULL);
        if (!tree)
            abort();
        struct fz_buffer text = fz_buffer_make(0);
        fz_buffer_append(&text, once.data, once.len);
        json_t *built = json_build(text.data, text.len);
        /* The same members in the same order, and the text is as it was. */
        char *want = json_dumps(tree, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
        char *got = built ? json_dumps(built, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) : NULL;
        if (!got || strcmp(got, want) != 0 || !json_equal(built, tree) ||
            !fz_span_equal(fz_buffer_span(&text), fz_buffer_span(&once)))
            abort();
        free(want);
        free(got);
        fz_buffer_deinit(&text);
        json_decref(built);
        json_decref(tree);
        /* Repaired text needs no repair, and white space does not matter. */
        if (json_scan(fz_buffer_span(&once), &limits, &twice, &notes, NULL) != FZ_OK ||
            !fz_span_equal(fz_buffer_span(&once), fz_buffer_span(&twice)) ||
            notes.n_big_numbers + notes.n_bad_utf8 + notes.n_bad_escapes != 0)
            abort();
        fz_buffer_clear(&twice);
        json_walk_compact(fz_buffer_span(&once), &twice);
        if (json_scan(fz_buffer_span(&twice), &limits, NULL, NULL, NULL) != FZ_OK)
            abort();
    }
    size_t used = 0;
    if (json_scan_first(in, &limits, NULL, NULL, &used, NULL) == FZ_OK && used > size)
        abort();
    fz_buffer_deinit(&once);
    fz_buffer_deinit(&twice);
    return 0;
}
