#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loader.h"

/*
 * Ports of tasks and threads are plain numbers: LOADER_TASK is this process, LOADER_CORPSE the dead child. What Darwin
 * answers from the kernel's tables comes from loader_shared (this process or the child), /proc/PID/maps and
 * /proc/PID/mem.
 *
 * LOADER_FAULTS in the environment names what is to go wrong: see has_fault().
 */
enum { OK = 0, INVALID_ADDRESS = 1, INVALID_ARGUMENT = 4, FAILURE = 5, TAG_STACK = 30 };
enum { CORPSE_THREAD_PORT = 0x100003, INFOS_SIZE = 200 };

struct loader_shared *loader_corpse;
static uint32_t task_self = LOADER_TASK;

static bool
has_fault(const char *name)
{
    const char *faults = getenv("LOADER_FAULTS");
    const char *at = faults ? strstr(faults, name) : NULL;
    size_t n = strlen(name);
    return at && (at == faults || at[-1] == ',') && (at[n] == '\0' || at[n] == ',');
}

/* LOADER_CRASH_AT="NAME N" or "NAME N+": the Nth call (and all later ones) of this function fault. */
static void
crash_if_wanted(const char *name, int *n_calls)
{
    const char *wanted = getenv("LOADER_CRASH_AT");
    size_t n = strlen(name);
    if (!wanted || strncmp(wanted, name, n) || wanted[n] != ' ')
        return;
    int at = atoi(wanted + n + 1);
    ++*n_calls;
    if (*n_calls == at || (*n_calls > at && strchr(wanted, '+')))
        *(volatile int *)8 = at;
}

static const struct loader_shared *
shared_of(uint32_t task)
{
    return task == LOADER_TASK ? loader_shared : task == LOADER_CORPSE ? loader_corpse : NULL;
}

static pid_t
pid_of(uint32_t task)
{
    return task == LOADER_CORPSE && loader_corpse ? loader_corpse->pid : getpid();
}

static const struct loader_thread *
thread_of(uint32_t port)
{
    if (port >= CORPSE_THREAD_PORT && loader_corpse)
        return &loader_corpse->threads[(port - CORPSE_THREAD_PORT) / 0x100 % LOADER_THREADS];
    return loader_thread_of_port(port);
}

/* ---- threads ---------------------------------------------------------------------------------- */

static int
shim_task_threads(uint32_t task, uint32_t **ret_list, uint32_t *ret_n)
{
    const struct loader_shared *shared = shared_of(task);
    uint32_t *list = mmap(NULL, 1024 * sizeof(*list), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t n = 0;
    loader_maps_forget();
    if (!shared || list == MAP_FAILED)
        return FAILURE;
    for (uint32_t i = 0; i < LOADER_THREADS && !has_fault("no_threads"); i++)
        if (shared->threads[i].used)
            list[n++] =
                (shared == loader_shared ? LOADER_THREAD_PORT : CORPSE_THREAD_PORT) + 0x100 * i;
    *ret_list = list;
    *ret_n = n;
    return OK;
}

static int
shim_thread_get_state(uint32_t port, int flavour, void *to, uint32_t *count)
{
    const struct loader_thread *thread = thread_of(port);
    const void *from;
    uint32_t words;
    if (!thread || has_fault("no_registers"))
        return INVALID_ARGUMENT;
    switch (flavour) {
    case CPU_FLAVOUR:
        from = &thread->cpu.state;
        words = sizeof(thread->cpu.state) / 4;
        break;
    case CPU_FLAVOUR_EXCEPTION:
        from = &thread->cpu.exception;
        words = sizeof(thread->cpu.exception) / 4;
        break;
    case CPU_FLAVOUR_VECTORS:
        from = &thread->cpu.vectors;
        words = sizeof(thread->cpu.vectors) / 4;
        break;
    default:
        return INVALID_ARGUMENT;
    }
    if (*count < words)
        return INVALID_ARGUMENT;
    *count = words;
    memcpy(to, from, (size_t)words * 4);
    uint64_t *general = to;
    if (flavour == CPU_FLAVOUR && has_fault("sp_zero"))
        general[CPU_SP] = 0;
    if (flavour == CPU_FLAVOUR && has_fault("sp_wild"))
        general[CPU_SP] = 0x7fff00000008ull;
    if (flavour == CPU_FLAVOUR && has_fault("sp_in_guard"))
        general[CPU_SP] = thread->stack_low - 0x1000;
    return OK;
}

static int
shim_thread_info(uint32_t port, int flavour, void *to, uint32_t *count)
{
    static int n_calls;
    const struct loader_thread *thread = thread_of(port);
    crash_if_wanted("thread_info", &n_calls);
    if (!thread)
        return INVALID_ARGUMENT;
    if (flavour == 4 && *count >= 6) { /* THREAD_IDENTIFIER_INFO */
        memset(to, 0, 24);
        memcpy(to, &thread->id, 8);
        *count = 6;
        return OK;
    }
    if (flavour == 5 && *count >= 28) { /* THREAD_EXTENDED_INFO */
        memset(to, 0, 112);
        memcpy((char *)to + 48, thread->name, 64);
        *count = 28;
        return OK;
    }
    return INVALID_ARGUMENT;
}

/* ---- memory ----------------------------------------------------------------------------------- */

static int
shim_vm_read_overwrite(uint32_t task, uint64_t addr, uint64_t size, uint64_t to, uint64_t *ret_size)
{
    static int n_calls;
    crash_if_wanted("vm_read", &n_calls);
    if (!loader_memory_read(pid_of(task), addr, (void *)to, size))
        return INVALID_ADDRESS;
    *ret_size = size;
    return OK;
}

static int
shim_vm_region_recurse(uint32_t task, uint64_t *addr, uint64_t *size, uint32_t *depth, void *info,
                       uint32_t *count)
{
    const struct loader_shared *shared = shared_of(task);
    struct loader_region region;
    struct {
        uint32_t protection, max, inheritance, offset[2], tag, refs, shadow, is_submap, rest[3];
    } native = {0};
    (void)depth;
    if (!shared || *count < 12 || !loader_region_at(pid_of(task), *addr, &region))
        return INVALID_ADDRESS;
    uint64_t low = region.addr, high = region.addr + region.size;
    /* Linux joins neighbouring mappings; Darwin keeps each stack apart. */
    for (int i = 0; i < LOADER_THREADS; i++) {
        const struct loader_thread *thread = &shared->threads[i];
        if (!thread->used || thread->stack_top <= low || thread->stack_low >= high)
            continue;
        if (*addr >= thread->stack_top) {
            low = thread->stack_top;
        } else if (*addr < thread->stack_low && low < thread->stack_low) {
            high = thread->stack_low;
        } else {
            low = low < thread->stack_low ? thread->stack_low : low;
            high = high > thread->stack_top ? thread->stack_top : high;
            native.tag = TAG_STACK;
        }
    }
    *addr = low;
    *size = high - low;
    native.protection = (uint32_t)region.protection;
    memcpy(info, &native, sizeof(native));
    return OK;
}

static int
shim_vm_deallocate(uint32_t task, uint64_t addr, uint64_t size)
{
    (void)task;
    return munmap((void *)addr, (size + 0xfff) & ~0xfffull) == 0 ? OK : INVALID_ADDRESS;
}

/* ---- images ----------------------------------------------------------------------------------- */

/* struct dyld_all_image_infos and its array, as dyld keeps them: {header, path, time} for each image. */
uint64_t
loader_infos_make(void)
{
    static uint8_t infos[INFOS_SIZE];
    static uint64_t array[LOADER_IMAGES][3];
    uint32_t version = 17, n = loader_n_images;
    uint64_t at = (uint64_t)array;
    for (unsigned i = 0; i < n; i++) {
        array[i][0] = loader_images[i]->addr;
        array[i][1] = (uint64_t)loader_images[i]->path;
    }
    /* MH_DYLIB_IN_CACHE in the header of every library. */
    for (unsigned i = 0; i < loader_n_images && has_fault("libraries_in_cache"); i++) {
        uint32_t *flags = (uint32_t *)(loader_images[i]->addr + 24);
        if (loader_images[i]->entry)
            continue;
        mprotect((void *)loader_images[i]->addr, 4096, PROT_READ | PROT_WRITE);
        *flags |= 0x80000000u;
        mprotect((void *)loader_images[i]->addr, 4096, PROT_READ | PROT_EXEC);
    }
    if (has_fault("commands_of_size_zero")) {
        mprotect((void *)loader_images[n - 1]->addr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
        *(uint32_t *)(loader_images[n - 1]->addr + 32 + 4) = 0;
    }
    if (has_fault("image_path_endless")) {
        /* A page of text, after which there is no memory. */
        uint8_t *page =
            mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(page, 'x', 4096);
        mprotect(page + 4096, 4096, PROT_NONE);
        array[n - 1][1] = (uint64_t)page + 4096 - 100;
    }
    if (has_fault("image_count"))
        n = UINT32_MAX;
    if (has_fault("image_array_null"))
        at = 0;
    if (has_fault("image_array_wild"))
        at = 0x7fff00000008ull;
    if (has_fault("image_path_wild"))
        array[0][1] = 0x7fff00000008ull;
    memcpy(infos, &version, 4);
    memcpy(infos + 4, &n, 4);
    memcpy(infos + 8, &at, 8);
    return (uint64_t)infos;
}

static int
shim_task_info(uint32_t task, uint32_t flavour, void *to, uint32_t *count)
{
    const struct loader_shared *shared = shared_of(task);
    loader_maps_forget();
    if (!shared || flavour != 17 || *count < 5 || has_fault("no_images"))
        return INVALID_ARGUMENT;
    uint64_t words[3] = {shared->dyld_infos, INFOS_SIZE, 1};
    memcpy(to, words, 20);
    *count = 5;
    return OK;
}

/* ---- the corpse ------------------------------------------------------------------------------- */

static uint8_t *
put_item(uint8_t *at, uint32_t type, const void *bytes, uint32_t size)
{
    uint32_t rounded = (size + 15) & ~15u, padding[2] = {rounded - size, 0};
    memcpy(at, &type, 4);
    memcpy(at + 4, &rounded, 4);
    memcpy(at + 8, padding, 8);
    memcpy(at + 16, bytes, size);
    return at + 16 + rounded;
}

static int
shim_task_map_corpse_info(uint32_t task, uint32_t corpse, uint64_t *ret_addr, uint64_t *ret_size)
{
    (void)task;
    if (corpse != LOADER_CORPSE || !loader_corpse || has_fault("no_record"))
        return INVALID_ARGUMENT;
    uint8_t *bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            *at = bytes;
    uint64_t id = loader_corpse->threads[loader_corpse->crashed].id;
    uint32_t exception = (uint32_t)loader_corpse->exception;
    at = put_item(at, 0xdeadf157, "", 0);
    at = put_item(at, 0x80e, loader_corpse->codes, 16);
    at = put_item(at, 0x838, &exception, 4);
    if (!has_fault("no_crashed_thread"))
        at = put_item(at, 0x81a, &id, 8);
    put_item(at, 0xf19158ed, "", 0);
    *ret_addr = (uint64_t)bytes;
    *ret_size = 4096;
    return OK;
}

static uint32_t
shim_corpse_port(void)
{
    return loader_corpse ? LOADER_CORPSE : 0;
}

static int
shim_corpse_exception(void)
{
    return loader_corpse ? loader_corpse->exception : 0;
}

static int
shim_port_deallocate(void)
{
    return OK;
}

const struct loader_symbol loader_symbols_mach[] = {
    {"_mach_task_self_", &task_self},
    {"_task_threads", shim_task_threads},
    {"_thread_get_state", shim_thread_get_state},
    {"_thread_info", shim_thread_info},
    {"_vm_read_overwrite", shim_vm_read_overwrite},
    {"_vm_region_recurse_64", shim_vm_region_recurse},
    {"_vm_deallocate", shim_vm_deallocate},
    {"_task_info", shim_task_info},
    {"_task_map_corpse_info_64", shim_task_map_corpse_info},
    {"_loader_corpse_port", shim_corpse_port},
    {"_loader_corpse_exception", shim_corpse_exception},
    {"_mach_port_deallocate", shim_port_deallocate},
    {NULL, NULL},
};
