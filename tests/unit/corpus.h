/*
 * Where real-world test inputs are, if this machine has them: the environment's FRAMEZERO_CORPUS,
 * else shared/corpus beside the source tree. Tests that use them skip without.
 */
#ifndef UNIT_CORPUS_H
#define UNIT_CORPUS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/attr.h"

/* The path of `name` in the corpus; false, with a message, if it does not exist. FZ_TOP is the
 * source tree. */
static inline FZ_UNUSED bool
corpus_path(const char *name, char *ret, size_t size)
{
    const char *corpus = getenv("FRAMEZERO_CORPUS");
    snprintf(ret, size, "%s/%s", corpus ? corpus : FZ_TOP "/../shared/corpus", name);
    if (access(ret, R_OK) == 0)
        return true;
    printf("no corpus: %s is missing (set FRAMEZERO_CORPUS)\n", ret);
    return false;
}

#endif
