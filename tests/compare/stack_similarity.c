/*
 * How similar the stacks of reports are, each pair of them, for similar_stacks.py.
 *
 * stack_similarity ALPHA BETA GAMMA EXTRA FILE...: files of symbolicated JSON. Prints "A B SCORE" for each pair, by number. How
 * rare a function is is counted over the files; EXTRA is added to their number, as the API does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "server/group/group.h"
#include "server/report/render.h"

enum { STACKS_MAX = 1024, FILE_MAX = 64 << 20 };

static struct group_stack stacks[STACKS_MAX];
static size_t n_stacks;

static uint64_t
frequency(void *user, const char *function)
{
    uint64_t n = 0;
    (void)user;
    for (size_t i = 0; i < n_stacks; i++) {
        bool has = false;
        for (size_t k = 0; k < stacks[i].n_frames && !has; k++)
            has = stacks[i].frames[k].name && strcmp(stacks[i].frames[k].name, function) == 0;
        n += has;
    }
    return n;
}

static bool
load(const char *path, struct fz_arena *arena, struct group_stack *ret)
{
    struct fz_error err;
    struct report *report = fz_arena_alloc(arena, sizeof(*report));
    struct report_envelope envelope;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer bytes = fz_buffer_make(0);
    enum fz_code code =
        report ? fz_file_read(path, FILE_MAX, &bytes, &err) : fz_arena_fail(arena, &err);
    if (code == FZ_OK)
        code = report_load_json(fz_buffer_span(&bytes), arena, report, &envelope, &err);
    if (code == FZ_OK)
        code = group_stack_make(report, arena, ret, &err);
    if (code != FZ_OK)
        fprintf(stderr, "%s: %s\n", path, err.text);
    return code == FZ_OK;
}

int
main(int argc, char **argv)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make((size_t)1 << 30);
    const struct group_weighed *weighed[STACKS_MAX];
    struct group_similarity with = {.frequency = frequency};
    int first = 5;
    if (argc <= first || argc - first > STACKS_MAX) {
        fprintf(stderr, "usage: stack_similarity ALPHA BETA GAMMA EXTRA FILE...\n");
        return 2;
    }
    with.alpha = strtod(argv[1], NULL);
    with.beta = strtod(argv[2], NULL);
    with.gamma = strtod(argv[3], NULL);
    for (int i = first; i < argc; i++) {
        if (!load(argv[i], &arena, &stacks[n_stacks]))
            return 1;
        n_stacks++;
    }
    with.n_stacks = n_stacks + strtoul(argv[4], NULL, 10);
    for (size_t i = 0; i < n_stacks; i++) {
        weighed[i] = group_similarity_weigh(&with, &stacks[i], &arena);
        if (!weighed[i])
            return 1;
    }
    for (size_t i = 0; i < n_stacks; i++) {
        for (size_t k = i + 1; k < n_stacks; k++)
            printf("%zu %zu %.6f\n", i, k, group_similarity(&with, weighed[i], weighed[k]));
    }
    return 0;
}
