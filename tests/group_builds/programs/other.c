/* A second file, with a static function that has the name of one in c.c. */
#include "app.h"

static int
prepare(const int *from)
{
    return AFTER(from[3]);
}

int
other_start(void)
{
    return AFTER(prepare(HIDDEN(int)) + 2);
}
