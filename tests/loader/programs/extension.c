/* A CrashReporterExtension as its C part sees it: a port of a corpse in, a file in FOLDER out. */
#include "../../../client/include/framezero.h"

#include <stdio.h>
#include <stdlib.h>

unsigned loader_corpse_port(void);
int loader_corpse_exception(void);

int
main(int argc, char **argv)
{
    const char *level = getenv("EXTENSION_PRIVACY");
    struct framezero_options options = {.folder = argc > 1 ? argv[1] : NULL,
                                        .privacy = level ? level[0] - '0' : FRAMEZERO_VALUES,
                                        .app_name = "Shop"};
    int code = framezero_capture_corpse(loader_corpse_port(), loader_corpse_exception(), &options);
    printf("E %d\n", code);
    return code;
}
