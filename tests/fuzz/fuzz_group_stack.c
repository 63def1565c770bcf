/* A stored stack is read or refused; what was read has a key, and is the same once written again. */
#include <stdlib.h>

#include "server/group/group.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(16 << 20);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer again = fz_buffer_make(0);
    const struct group_rules rules = group_rules_builtin();
    const struct group_similarity with = group_similarity_default();
    struct group_stack stack, copy;
    struct group_key key, key_of_copy;
    if (group_stack_decode(fz_span_make(data, size), &arena, &stack, NULL) != FZ_OK)
        return 0;
    if (group_key(&stack, &rules, &arena, &key, NULL) != FZ_OK)
        abort();
    const struct group_weighed *weighed = group_similarity_weigh(&with, &stack, &arena);
    const char *shared[GROUP_SHARED_MAX];
    double similar = weighed ? group_similarity(&with, weighed, weighed) : 0;
    if (!(similar >= -1 && similar <= 1.0000001))
        abort();
    if (weighed &&
        group_similarity_shared(weighed, weighed, shared, GROUP_SHARED_MAX) > stack.n_frames)
        abort();
    group_stack_encode(&stack, &out);
    if (out.failed)
        return 0; /* texts that were shared in a way that the encoder does not */
    if (group_stack_decode(fz_buffer_span(&out), &arena, &copy, NULL) != FZ_OK ||
        group_key(&copy, &rules, &arena, &key_of_copy, NULL) != FZ_OK ||
        memcmp(key.hash, key_of_copy.hash, sizeof(key.hash)) != 0)
        abort();
    group_stack_encode(&copy, &again);
    if (!fz_span_equal(fz_buffer_span(&out), fz_buffer_span(&again)))
        abort();
    return 0;
}
