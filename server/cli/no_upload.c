/*
 * `framezero upload` in a build that found no libcurl: it says so.
 */
#include "base/attr.h"
#include "server/cli/cmd.h"
#include "server/config/term.h"

static int
refuse(int argc FZ_UNUSED, char **argv)
{
    term_error(argv[0], "this build has no libcurl; install it and build again, or send a zip of "
                        "the dSYM with the curl program (docs/api/symbols-post.md)");
    return 2;
}

const struct command_spec cmd_upload = {.name = "upload", .flags = COMMAND_HIDDEN, .run = refuse};
