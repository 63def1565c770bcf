/* framezero child: the side of a worker that reads foreign bytes. Started by workers only. */
#include "server/cli/cmd.h"

#include "base/attr.h"
#include "server/child/child.h"

static int
run(int argc FZ_UNUSED, char **argv FZ_UNUSED)
{
    return child_main();
}

const struct command_spec cmd_child = {.name = "child", .flags = COMMAND_HIDDEN, .run = run};
