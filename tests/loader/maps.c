#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loader.h"

enum { REGIONS = 8192 };

/* /proc/PID/maps is slow under qemu. A capture reads memory that does not change meanwhile. */
static struct loader_region regions[REGIONS];
static unsigned n_regions;
static pid_t regions_pid = -1;

void
loader_maps_forget(void)
{
    regions_pid = -1;
}

static void
parse_line(const char *line)
{
    unsigned long long low, high;
    char rights[5];
    if (sscanf(line, "%llx-%llx %4s", &low, &high, rights) != 3 || n_regions == REGIONS)
        return;
    int protection = (rights[0] == 'r' ? PROT_READ : 0) | (rights[1] == 'w' ? PROT_WRITE : 0) |
                     (rights[2] == 'x' ? PROT_EXEC : 0);
    /* Kernel pages beyond the user's half are not memory of the process. */
    if (high < 1ull << 47)
        regions[n_regions++] = (struct loader_region){low, high - low, protection};
}

/* No stdio streams: the caller may be in a handler of a signal. */
static void
read_maps(pid_t pid)
{
    static char text[1 << 20];
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    if (pid == getpid())
        snprintf(path, sizeof(path), "/proc/self/maps");
    n_regions = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    for (ssize_t n; fd >= 0 && (n = read(fd, text + len, sizeof(text) - 1 - len)) > 0;)
        len += (size_t)n;
    close(fd);
    text[len] = '\0';
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        parse_line(line);
    }
    regions_pid = pid;
}

bool
loader_region_at(pid_t pid, uint64_t addr, struct loader_region *ret)
{
    if (pid != regions_pid)
        read_maps(pid);
    unsigned low = 0, high = n_regions;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (regions[middle].addr + regions[middle].size <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == n_regions)
        return false;
    *ret = regions[low];
    return true;
}

bool
loader_memory_read(pid_t pid, uint64_t addr, void *to, uint64_t size)
{
    /* /proc/PID/mem ignores protections, Mach does not. */
    for (uint64_t at = addr; at < addr + size || at < addr;) {
        struct loader_region region;
        if (at < addr || !loader_region_at(pid, at, &region) || region.addr > at ||
            !(region.protection & PROT_READ))
            return false;
        at = region.addr + region.size;
    }
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : pread(fd, to, size, (off_t)addr);
    close(fd);
    return n == (ssize_t)size;
}
