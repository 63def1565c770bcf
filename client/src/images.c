#include "images.h"

#include <mach-o/loader.h>
#include <string.h>

/*
 * struct dyld_all_image_infos (mach-o/dyld_images.h), offsets for pointers of 8 bytes and, on arm64_32, of 4:
 *
 *   version  count  array of {base, path, time}  dyld's own base  dyld's path
 *      0       4               8                   32 (20)         192 (112)
 *
 * dyld is not in the array. The array is null while dyld changes it.
 */
enum {
    POINTER = sizeof(uintptr_t),
    INFOS_COUNT = 4,
    INFOS_ARRAY = 8,
    INFOS_DYLD = POINTER == 8 ? 32 : 20,
    INFOS_DYLD_PATH = POINTER == 8 ? 192 : 112,
    INFOS_SIZE = INFOS_DYLD_PATH + POINTER,
    INFO_SIZE = 3 * POINTER,
    ARRAY_TRIES = 3,
    ARRAY_MAX = 4096,         /* elements, images or not */
    COMMANDS_MAX = 64 * 1024, /* bytes of load commands of an image; the largest known has 20 KB */
    DYLIB_IN_CACHE = (int)0x80000000u,
    CRASH_INFO_MESSAGE = 8, /* {u64 version; char *message; …} */
};

/* One source for both sizes of pointers, as in Apple's own tools. */
#ifdef __LP64__
static const uint32_t MAGIC = MH_MAGIC_64, COMMAND_SEGMENT = LC_SEGMENT_64;
#define HEADER struct mach_header_64
#define SEGMENT struct segment_command_64
#define SECTION struct section_64
#else
static const uint32_t MAGIC = MH_MAGIC, COMMAND_SEGMENT = LC_SEGMENT;
#define HEADER struct mach_header
#define SEGMENT struct segment_command
#define SECTION struct section
#endif

/* ---- load commands ---------------------------------------------------------------------------- */

/* Load commands are small and follow one another: one read of a page serves many of them. An app has over a thousand
 * images, and its threads are stopped meanwhile. */
FRAMEZERO_WORK static struct {
    uint64_t addr;
    size_t n;
    uint8_t bytes[FRAMEZERO_PAGE];
} window;

static bool
peek(mach_port_t task, uint64_t addr, void *to, size_t size)
{
    if (addr < window.addr || addr - window.addr > window.n ||
        size > window.n - (size_t)(addr - window.addr)) {
        window.addr = addr;
        window.n = framezero_memory_read_some(task, addr, window.bytes, sizeof(window.bytes));
        if (size > window.n)
            return false;
    }
    memcpy(to, window.bytes + (addr - window.addr), size);
    return true;
}

static bool
is_named(const char field[16], const char *name)
{
    return strncmp(field, name, 16) == 0;
}

static void
note_section(struct framezero_images *images, const struct framezero_image *image,
             const SECTION *section)
{
    enum framezero_section_kind kind;
    if (is_named(section->sectname, "__crash_info"))
        kind = FRAMEZERO_SECTION_INFO;
    else if (!image->in_cache && is_named(section->sectname, FRAMEZERO_RECORD_SECTION))
        kind = FRAMEZERO_SECTION_RECORD;
    else if (image->is_program &&
             (is_named(section->sectname, "__data") || is_named(section->sectname, "__bss") ||
              is_named(section->sectname, "__common") ||
              is_named(section->sectname, "__objc_ivar")))
        kind = FRAMEZERO_SECTION_DATA;
    else
        return;
    if (images->n_sections == FRAMEZERO_SECTIONS)
        return;
    images->sections[images->n_sections++] = (struct framezero_section){
        kind, (uint64_t)section->addr + image->slide, section->size, image->addr};
}

static void
read_sections(struct framezero_images *images, mach_port_t task,
              const struct framezero_image *image, uint64_t at, uint32_t n)
{
    SECTION section;
    for (uint32_t i = 0; i < n; i++) {
        if (!peek(task, at + (uint64_t)i * sizeof(section), &section, sizeof(section)))
            return;
        note_section(images, image, &section);
    }
}

static void
read_segment(struct framezero_images *images, mach_port_t task, struct framezero_image *image,
             uint64_t at, uint64_t command_size)
{
    SEGMENT segment;
    if (command_size < sizeof(segment) || !peek(task, at, &segment, sizeof(segment)))
        return;
    /* __TEXT is the first segment with memory, so the slide is known when the others are read. */
    if (is_named(segment.segname, "__TEXT")) {
        image->size = segment.vmsize;
        image->slide = image->addr - segment.vmaddr;
    } else if (strncmp(segment.segname, "__DATA", 6) == 0 && image->size) {
        uint64_t room = (command_size - sizeof(segment)) / sizeof(SECTION);
        uint32_t n = segment.nsects < room ? segment.nsects : (uint32_t)room;
        read_sections(images, task, image, at + sizeof(segment), n);
    }
}

/* False if no image is there. */
static bool
read_image(struct framezero_images *images, mach_port_t task, struct framezero_image *image)
{
    HEADER header;
    if (!peek(task, image->addr, &header, sizeof(header)) || header.magic != MAGIC ||
        header.sizeofcmds > COMMANDS_MAX)
        return false;
    image->cpu_type = (uint32_t)header.cputype;
    image->cpu_subtype = (uint32_t)header.cpusubtype & 0xffffff;
    image->in_cache = (header.flags & (uint32_t)DYLIB_IN_CACHE) != 0;
    image->is_program = header.filetype == MH_EXECUTE;
    uint64_t at = image->addr + sizeof(header), end = at + header.sizeofcmds;
    for (uint32_t i = 0; i < header.ncmds; i++) {
        struct uuid_command command;
        if (end - at < sizeof(struct load_command) ||
            !peek(task, at, &command, sizeof(struct load_command)) ||
            command.cmdsize < sizeof(struct load_command) || command.cmdsize > end - at)
            break;
        if (command.cmd == COMMAND_SEGMENT) {
            read_segment(images, task, image, at, command.cmdsize);
        } else if (command.cmd == LC_UUID && command.cmdsize >= sizeof(command) &&
                   peek(task, at, &command, sizeof(command))) {
            memcpy(image->uuid, command.uuid, sizeof(image->uuid));
            image->has_uuid = true;
        }
        at += command.cmdsize;
    }
    return true;
}

/* ---- the list --------------------------------------------------------------------------------- */

static uint64_t
pointer_in(const uint8_t *bytes)
{
    uintptr_t value;
    memcpy(&value, bytes, sizeof(value));
    return value;
}

static void
add_image(struct framezero_images *images, mach_port_t task, uint64_t addr, uint64_t path)
{
    if (images->n == FRAMEZERO_IMAGES) {
        images->is_cut = true;
        return;
    }
    struct framezero_image image = {.addr = addr & FRAMEZERO_ADDRESS_MASK, .path = path};
    if (!read_image(images, task, &image)) {
        images->is_cut = true;
        return;
    }
    unsigned at = images->n;
    /* dyld's order is nearly ascending within the cache, so this is a short way. */
    while (at > 0 && images->list[at - 1].addr > image.addr)
        at--;
    if (at > 0 && images->list[at - 1].addr == image.addr)
        return;
    memmove(&images->list[at + 1], &images->list[at], (images->n - at) * sizeof(images->list[0]));
    images->list[at] = image;
    images->n++;
    if (image.in_cache && image.size <= UINT64_MAX - image.addr) {
        uint64_t high = image.addr + image.size;
        images->cache_low = images->cache_high == 0 || image.addr < images->cache_low
                                ? image.addr
                                : images->cache_low;
        images->cache_high = high > images->cache_high ? high : images->cache_high;
    }
}

/* Such a list has 24 KB and more; it is read in pieces. */
static void
read_array(struct framezero_images *images, mach_port_t task, uint64_t array, uint32_t count)
{
    uint8_t infos[32 * INFO_SIZE];
    if (count > ARRAY_MAX) {
        count = ARRAY_MAX;
        images->is_cut = true;
    }
    for (uint32_t i = 0; i < count; i += 32) {
        uint32_t n = count - i < 32 ? count - i : 32;
        if (images->n == FRAMEZERO_IMAGES ||
            !framezero_memory_read(task, array + (uint64_t)i * INFO_SIZE, infos,
                                   (size_t)n * INFO_SIZE)) {
            images->is_cut = true;
            return;
        }
        for (uint32_t k = 0; k < n; k++) {
            const uint8_t *info = infos + (size_t)k * INFO_SIZE;
            add_image(images, task, pointer_in(info), pointer_in(info + POINTER));
        }
    }
}

void
framezero_images_read(struct framezero_images *images, mach_port_t task)
{
    struct task_dyld_info where = {0};
    mach_msg_type_number_t count = TASK_DYLD_INFO_COUNT;
    uint8_t infos[INFOS_SIZE];
    images->n = images->n_sections = 0;
    window.n = 0;
    images->is_cut = images->is_unknown = false;
    images->cache_low = images->cache_high = 0;
    if (task_info(task, TASK_DYLD_INFO, (task_info_t)&where, &count) != KERN_SUCCESS ||
        !framezero_memory_read(task, where.all_image_info_addr, infos, sizeof(infos))) {
        images->is_unknown = true;
        return;
    }
    for (int i = 0; i < ARRAY_TRIES && !pointer_in(infos + INFOS_ARRAY); i++)
        if (!framezero_memory_read(task, where.all_image_info_addr, infos, sizeof(infos)))
            break;
    uint32_t n_images;
    memcpy(&n_images, infos + INFOS_COUNT, sizeof(n_images));
    uint64_t array = pointer_in(infos + INFOS_ARRAY);
    if (array)
        read_array(images, task, array, n_images);
    else
        images->is_unknown = true;
    if (pointer_in(infos + INFOS_DYLD))
        add_image(images, task, pointer_in(infos + INFOS_DYLD),
                  pointer_in(infos + INFOS_DYLD_PATH));
}

struct framezero_image *
framezero_images_find(struct framezero_images *images, uint64_t addr)
{
    unsigned low = 0, high = images->n;
    addr &= FRAMEZERO_ADDRESS_MASK;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (images->list[middle].addr <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || addr - images->list[low - 1].addr >= images->list[low - 1].size)
        return NULL;
    return &images->list[low - 1];
}

/* ---- what images contain ---------------------------------------------------------------------- */

static void
end_texts(struct framezero_record *record)
{
    record->app_id[sizeof(record->app_id) - 1] = '\0';
    record->app_name[sizeof(record->app_name) - 1] = '\0';
    record->app_version[sizeof(record->app_version) - 1] = '\0';
    record->app_build[sizeof(record->app_build) - 1] = '\0';
    record->os_name[sizeof(record->os_name) - 1] = '\0';
    record->os_version[sizeof(record->os_version) - 1] = '\0';
    record->os_build[sizeof(record->os_build) - 1] = '\0';
    record->device_model[sizeof(record->device_model) - 1] = '\0';
    record->user_id[sizeof(record->user_id) - 1] = '\0';
    record->exception.name[sizeof(record->exception.name) - 1] = '\0';
    record->exception.reason[sizeof(record->exception.reason) - 1] = '\0';
    if (record->exception.n_addresses > FRAMEZERO_THROW_MAX)
        record->exception.n_addresses = FRAMEZERO_THROW_MAX;
}

bool
framezero_images_record(const struct framezero_images *images, mach_port_t task,
                        struct framezero_record *ret)
{
    for (unsigned i = 0; i < images->n_sections; i++) {
        const struct framezero_section *section = &images->sections[i];
        if (section->kind != FRAMEZERO_SECTION_RECORD || section->size < sizeof(*ret) ||
            !framezero_memory_read(task, section->addr, ret, sizeof(*ret)))
            continue;
        if (memcmp(ret->magic, FRAMEZERO_RECORD_MAGIC, sizeof(ret->magic)) == 0 &&
            ret->size == sizeof(*ret)) {
            end_texts(ret);
            return true;
        }
    }
    memset(ret, 0, sizeof(*ret));
    return false;
}

void
framezero_images_crash_text(const struct framezero_images *images, mach_port_t task, char *to,
                            size_t size)
{
    to[0] = '\0';
    for (unsigned i = 0; i < images->n_sections && !to[0]; i++) {
        const struct framezero_section *section = &images->sections[i];
        uint64_t message = 0;
        if (section->kind == FRAMEZERO_SECTION_INFO &&
            framezero_memory_read(task, section->addr + CRASH_INFO_MESSAGE, &message,
                                  sizeof(message)) &&
            message)
            framezero_memory_read_text(task, message & FRAMEZERO_ADDRESS_MASK, to, size);
    }
}

/* ---- writing ---------------------------------------------------------------------------------- */

static const char *
arch_name(const struct framezero_image *image)
{
    enum { CPU_X86_64 = 0x01000007, CPU_ARM64 = 0x0100000c, CPU_ARM64_32 = 0x0200000c, ARM64E = 2 };
    switch (image->cpu_type) {
    case CPU_X86_64:
        return "x86_64";
    case CPU_ARM64:
        return image->cpu_subtype == ARM64E ? "arm64e" : "arm64";
    case CPU_ARM64_32:
        return "arm64_32";
    default:
        return NULL;
    }
}

void
framezero_images_write(const struct framezero_images *images, mach_port_t task,
                       struct framezero_writer *w)
{
    FRAMEZERO_WORK static char path[1024];
    framezero_write_open(w, "images", '[');
    for (unsigned i = 0; i < images->n; i++) {
        const struct framezero_image *image = &images->list[i];
        if (image->in_cache && !image->is_hit)
            continue;
        framezero_memory_read_text(task, image->path, path, sizeof(path));
        const char *slash = strrchr(path, '/'), *arch = arch_name(image);
        framezero_write_open(w, NULL, '{');
        if (image->has_uuid)
            framezero_write_uuid(w, "uuid", image->uuid);
        framezero_write_text(w, "name", slash ? slash + 1 : path, sizeof(path));
        framezero_write_text(w, "path", path, sizeof(path));
        framezero_write_text(w, "arch", arch, 16);
        framezero_write_hex(w, "address", image->addr);
        framezero_write_number(w, "size", (int64_t)image->size);
        framezero_write_close(w, '}');
    }
    framezero_write_close(w, ']');
}
