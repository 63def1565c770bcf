#include "base/random.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/platform.h"

void
fz_random(void *ret, size_t len)
{
    if (fz_platform_random(ret, len))
        return;
    /* A guessable token is worse than no server. */
    fputs("framezero: the system has no random bytes (/dev/urandom)\n", stderr);
    abort();
}
