/* framezero child: the side of a worker that reads foreign bytes. Started by workers only. */
#include "server/cmd.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/attr.h"
#include "server/worker/protocol.h"
#include "server/worker/worker.h"

int
cmd_child(int argc FZ_UNUSED, char **argv FZ_UNUSED)
{
    struct stat st;
    if (fstat(PROTO_FD, &st) != 0 || !S_ISSOCK(st.st_mode)) {
        fprintf(stderr, "framezero child: is started by a worker, not by hand\n");
        return 2;
    }
    return worker_child_main();
}
