/* Code that an app has from others: a mistake of the caller shows in it, and it calls back. */
#include "../../app.h"

NOINLINE static int
zip_read(const int *from)
{
    return AFTER(*from);
}

int
zip_inflate(const int *from)
{
    return AFTER(zip_read(from) + 1);
}

int
zip_each(int (*visit)(const int *), const int *item)
{
    return AFTER(visit(item) + 1);
}
