/* An app that sends what is pending: takes each report, returns or removes it as its second argument says. */
#include "../../../client/include/framezero.h"

#include <stdio.h>
#include <string.h>

int
main(int argc, char **argv)
{
    char path[FRAMEZERO_PATH_MAX];
    if (argc < 3)
        return 2;
    if (!strcmp(argv[2], "install")) {
        struct framezero_options options = {.folder = argv[1], .ways = FRAMEZERO_EXCEPTIONS};
        return framezero_install(&options);
    }
    while (framezero_pending_next(argv[1], path) > 0) {
        printf("P %s\n", path);
        if (!strcmp(argv[2], "return"))
            return framezero_pending_return(path);
        if (!strcmp(argv[2], "done") && framezero_pending_done(path) != 0)
            return 1;
    }
    return 0;
}
