#include "server/worker/slot.h"

#include <fcntl.h>
#include <unistd.h>

int
worker_slot_take(int fd)
{
    for (int slot = 0; fd >= 0 && slot < WORKER_SLOTS; slot++) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = slot, .l_len = 1};
        if (fcntl(fd, F_SETLK, &lock) == 0)
            return slot;
    }
    return -1;
}

bool
worker_slot_is_reserved(int fd, int slot)
{
    struct flock others = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = WORKER_SLOTS - 1};
    return slot == 0 && fcntl(fd, F_GETLK, &others) == 0 && others.l_type != F_UNLCK;
}
