/*
 * `framezero upload` in a build that found no libcurl: it says so.
 */
#include "server/cli/cmd.h"
#include "server/config/term.h"

static int
refuse(const struct command_call *call)
{
    term_error(call->command->name,
               "this build has no libcurl; install it and build again, or send a zip of "
               "the dSYM with the curl program (docs/api/symbols-post.md)");
    return 2;
}

const struct command_spec cmd_upload = {.name = "upload", .flags = COMMAND_HIDDEN, .run = refuse};
