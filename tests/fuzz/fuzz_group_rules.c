/* The text of a project's rules is read, or refused with a place in it; rules match any frame. */
#include <stdlib.h>

#include "server/group/group.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(16 << 20);
    struct group_image images[] = {{"Shop", "Shop.app/Shop", GROUP_ORIGIN_EXECUTABLE}};
    struct group_frame frames[] = {
        {.name = "Cart.total(of:)", .module = "Shop", .file = "/src/a/a/a/a/a/a/a/Cart.swift"},
        {.image = -1}};
    const struct group_stack stack = {.kind = "crash",
                                      .fingerprint = "\"a\"\n",
                                      .images = images,
                                      .n_images = 1,
                                      .frames = frames,
                                      .n_frames = 2};
    struct group_rules rules;
    struct group_key key;
    struct fz_error err;
    enum fz_code code = group_rules_parse(fz_span_make(data, size), &arena, &rules, &err);
    if (code == FZ_E_MALFORMED && (err.offset < 0 || (uint64_t)err.offset > size))
        abort();
    if (code == FZ_OK && group_key(&stack, &rules, &arena, &key, NULL) != FZ_OK)
        abort();
    return 0;
}
