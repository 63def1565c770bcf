#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "loader.h"

/*
 * libSystem: what is the same on both systems is passed on; what has other numbers or another way of passing arguments
 * is translated.
 */

/* Darwin passes variadic arguments of arm64 on the stack, in slots of 8 bytes; Linux takes the first ones from registers.
 * A variadic shim therefore has eight named arguments there, and its list has no registers left. */
#ifdef __aarch64__
#define VARIADIC_1 \
    , uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5, uint64_t r6, uint64_t r7
#define VARIADIC_2 , uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5, uint64_t r6, uint64_t r7
#define VARIADIC_3 , uint64_t r3, uint64_t r4, uint64_t r5, uint64_t r6, uint64_t r7
#define UNUSED_2 (void)r2, (void)r3, (void)r4, (void)r5, (void)r6, (void)r7
#define UNUSED_1 (void)r1, UNUSED_2
#define UNUSED_3 (void)r3, (void)r4, (void)r5, (void)r6, (void)r7
#define LAST(name) r7
/* Vector registers do not carry variadic arguments either. */
#define START(args, last) (va_start(args, r7), (args).__vr_offs = 0)
#else
#define VARIADIC_1
#define VARIADIC_2
#define VARIADIC_3
#define UNUSED_1 (void)0
#define UNUSED_2 (void)0
#define UNUSED_3 (void)0
#define START(args, last) va_start(args, last)
#endif

bool loader_allocation_is_fatal;

static void
check_allocation(const char *name)
{
    if (!loader_allocation_is_fatal)
        return;
    fprintf(stderr, "loader: %s() was called after allocation became forbidden\n", name);
    _exit(123);
}

static void *
shim_malloc(size_t size)
{
    check_allocation("malloc");
    return malloc(size);
}

static void *
shim_calloc(size_t n, size_t size)
{
    check_allocation("calloc");
    return calloc(n, size);
}

static void *
shim_realloc(void *old, size_t size)
{
    check_allocation("realloc");
    return realloc(old, size);
}

static void
shim_free(void *old)
{
    check_allocation("free");
    free(old);
}

static int
shim_printf(const char *format VARIADIC_1, ...)
{
    va_list args;
    UNUSED_1;
    START(args, format);
    int n = vprintf(format, args);
    va_end(args);
    return n;
}

static int
shim_snprintf(char *to, size_t size, const char *format VARIADIC_3, ...)
{
    va_list args;
    UNUSED_3;
    START(args, format);
    int n = vsnprintf(to, size, format, args);
    va_end(args);
    return n;
}

static int
open_darwin(const char *path, int flags, int mode)
{
    static const struct {
        int darwin, native;
    } bits[] = {{0x200, O_CREAT},       {0x400, O_TRUNC},    {0x800, O_EXCL},        {8, O_APPEND},
                {0x1000000, O_CLOEXEC}, {0x100, O_NOFOLLOW}, {0x100000, O_DIRECTORY}};
    int native = flags & 3;
    for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++)
        native |= flags & bits[i].darwin ? bits[i].native : 0;
    return open(path, native, mode);
}

static int
shim_open(const char *path, int flags VARIADIC_2, ...)
{
    va_list args;
    UNUSED_2;
    START(args, flags);
    int mode = va_arg(args, int);
    va_end(args);
    return open_darwin(path, flags, mode);
}

static int
shim_open_protected(const char *path, int flags, int class, int encryption VARIADIC_2, ...)
{
    (void)class, (void)encryption;
    UNUSED_2;
    return open_darwin(path, flags, 0600);
}

static int *
shim_error(void)
{
    return &errno;
}

/* A file whose writes fail half way (tests of the client). */
static int64_t
shim_write(int fd, const void *bytes, size_t n)
{
    static const char *limit_text;
    static int64_t left = -2;
    if (left == -2) {
        limit_text = getenv("LOADER_WRITE_LIMIT");
        left = limit_text ? atoll(limit_text) : -1;
    }
    if (fd > 2 && left >= 0) {
        if ((int64_t)n > left) {
            errno = 28;
            return -1;
        }
        left -= (int64_t)n;
    }
    return write(fd, bytes, n);
}

static void
shim_forbid_allocation(void)
{
    loader_allocation_is_fatal = true;
}

static void
shim_stack_check_fail(void)
{
    fprintf(stderr, "loader: the stack protector failed\n");
    _exit(122);
}

static uint64_t stack_check_guard = 0x5a17c0de00ull;

static int
shim_atexit(void)
{
    return 0;
}

static void
shim_missing(void)
{
    fprintf(stderr, "loader: dyld_stub_binder was called\n");
    _exit(122);
}

static int
shim_clock_gettime(int clock, struct timespec *ret)
{
    /* Darwin: CLOCK_REALTIME 0, CLOCK_MONOTONIC 6, CLOCK_UPTIME_RAW 8. */
    return clock_gettime(clock == 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, ret);
}

/* Darwin's struct dirent with 64-bit inodes: d_name is at byte 21. */
struct darwin_dirent {
    uint64_t ino, seekoff;
    uint16_t reclen, namlen;
    uint8_t type;
    char name[1024];
} __attribute__((packed));

static void *
shim_readdir(DIR *dir)
{
    static struct darwin_dirent entry;
    const struct dirent *native = readdir(dir);
    if (!native)
        return NULL;
    entry.type = native->d_type;
    entry.namlen = (uint16_t)strlen(native->d_name);
    snprintf(entry.name, sizeof(entry.name), "%s", native->d_name);
    return &entry;
}

static int
shim_stat(const char *path, uint8_t *ret)
{
    struct stat native;
    if (stat(path, &native) != 0)
        return -1;
    /* Darwin's struct with 64-bit inodes: st_mtimespec at 48, st_size at 96. */
    int64_t modified = native.st_mtime, size = native.st_size;
    memset(ret, 0, 144);
    memcpy(ret + 48, &modified, 8);
    memcpy(ret + 96, &size, 8);
    return 0;
}

static size_t
shim_strlcpy(char *to, const char *from, size_t size)
{
    return (size_t)snprintf(to, size, "%s", from);
}

static void
shim_random(void *to, size_t n)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (read(fd, to, n) != (ssize_t)n)
        _exit(122);
    close(fd);
}

static int
shim_sysctl(void)
{
    errno = ENOENT;
    return -1;
}

static const struct loader_symbol symbols[] = {
    {"_stat", shim_stat},
    {"_stat$INODE64", shim_stat},
    {"_strlcpy", shim_strlcpy},
    {"_arc4random_buf", shim_random},
    {"_sysctl", shim_sysctl},
    {"_memchr", memchr},
    {"_lseek", lseek},
    {"_ftruncate", ftruncate},
    {"_time", time},
    {"_printf", shim_printf},
    {"_snprintf", shim_snprintf},
    {"_puts", puts},
    {"_malloc", shim_malloc},
    {"_calloc", shim_calloc},
    {"_realloc", shim_realloc},
    {"_free", shim_free},
    {"__Znwm", shim_malloc},
    {"__ZdlPv", shim_free},
    {"__ZdlPvm", shim_free},
    {"_memcpy", memcpy},
    {"_memmove", memmove},
    {"_memset", memset},
    {"_memcmp", memcmp},
    {"_bzero", bzero},
    {"___bzero", bzero},
    {"_strlen", strlen},
    {"_strcmp", strcmp},
    {"_strncmp", strncmp},
    {"_strcpy", strcpy},
    {"_strrchr", strrchr},
    {"_strchr", strchr},
    {"_open", shim_open},
    {"_open_dprotected_np", shim_open_protected},
    {"_write", shim_write},
    {"_read", read},
    {"_close", close},
    {"_rename", rename},
    {"_unlink", unlink},
    {"_link", link},
    {"_fsync", fsync},
    {"_getpid", getpid},
    {"_exit", exit},
    {"__exit", _exit},
    {"_usleep", usleep},
    {"_nanosleep", nanosleep},
    {"_sleep", sleep},
    {"_getenv", getenv},
    {"_clock_gettime", shim_clock_gettime},
    {"_opendir", opendir},
    {"_opendir$INODE64", opendir},
    {"_readdir", shim_readdir},
    {"_readdir$INODE64", shim_readdir},
    {"_closedir", closedir},
    {"___error", shim_error},
    {"___stack_chk_fail", shim_stack_check_fail},
    {"___stack_chk_guard", &stack_check_guard},
    {"___cxa_atexit", shim_atexit},
    {"_atexit", shim_atexit},
    {"dyld_stub_binder", shim_missing},
    {"_loader_forbid_allocation", shim_forbid_allocation},
    {NULL, NULL},
};

static uint64_t
find(const struct loader_symbol *table, const char *name)
{
    for (; table->name; table++)
        if (!strcmp(table->name, name))
            return (uint64_t)table->value;
    return 0;
}

uint64_t
loader_resolve(const char *name)
{
    /* A library may have its own raise() and abort(). */
    for (unsigned i = 0; i < loader_n_images; i++) {
        uint64_t value = macho_symbol(loader_images[i], name);
        if (value)
            return value;
    }
    static const struct loader_symbol *const tables[] = {symbols,
                                                         loader_symbols_signals,
                                                         loader_symbols_threads,
                                                         loader_symbols_mach,
                                                         loader_symbols_messages,
                                                         loader_symbols_objc,
                                                         loader_symbols_cxx};
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
        uint64_t value = find(tables[i], name);
        if (value)
            return value;
    }
    return 0;
}
