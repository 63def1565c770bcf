#include "capture.h"

#include "../include/framezero.h"
#include "describe.h"

#include <string.h>

/* Everything that a capture needs; 150 KB, of which a small app touches a tenth. */
FRAMEZERO_WORK static struct {
    struct framezero_writer writer;
    struct framezero_images images;
    struct framezero_regions regions;
    struct framezero_state state;
    uint64_t frames[FRAMEZERO_FRAMES];
    uint8_t page[FRAMEZERO_PAGE];
    bool threads_cut, data_cut;
} work;

/* ---- threads ---------------------------------------------------------------------------------- */

/* The list that the kernel made; its ports stay valid. */
struct thread_list {
    thread_act_array_t ports;
    mach_msg_type_number_t n;
};

enum { STOPPED_MAX = 1024, STOP_PASSES = 4 };

FRAMEZERO_WORK static struct {
    unsigned n;
    thread_t ports[STOPPED_MAX];
} stopped;

static void
list_threads(mach_port_t task, struct thread_list *ret)
{
    ret->ports = NULL;
    ret->n = 0;
    if (task_threads(task, &ret->ports, &ret->n) != KERN_SUCCESS)
        ret->n = 0;
}

static void
free_threads(struct thread_list *list)
{
    for (mach_msg_type_number_t i = 0; i < list->n; i++)
        if (list->ports[i] != MACH_PORT_NULL)
            mach_port_deallocate(mach_task_self(), list->ports[i]);
    if (list->ports)
        vm_deallocate(mach_task_self(), (vm_address_t)(uintptr_t)list->ports,
                      list->n * sizeof(*list->ports));
}

static bool
is_stopped(thread_t thread)
{
    for (unsigned i = 0; i < stopped.n; i++)
        if (stopped.ports[i] == thread)
            return true;
    return false;
}

void
framezero_threads_stop(thread_t except)
{
    struct thread_list list;
    thread_t self = mach_thread_self();
    bool found_new = true;
    stopped.n = 0;
    /* A thread that still ran may have started another one after the list was made. */
    for (int i = 0; i < STOP_PASSES && found_new; i++) {
        found_new = false;
        list_threads(mach_task_self(), &list);
        for (mach_msg_type_number_t k = 0; k < list.n && stopped.n < STOPPED_MAX; k++) {
            thread_t thread = list.ports[k];
            if (thread == self || thread == except || is_stopped(thread) ||
                thread_suspend(thread) != KERN_SUCCESS)
                continue;
            stopped.ports[stopped.n++] = thread;
            found_new = true;
            /* Kept until it is resumed. */
            list.ports[k] = MACH_PORT_NULL;
        }
        free_threads(&list);
    }
    mach_port_deallocate(mach_task_self(), self);
}

void
framezero_threads_go(void)
{
    for (unsigned i = 0; i < stopped.n; i++) {
        thread_resume(stopped.ports[i]);
        mach_port_deallocate(mach_task_self(), stopped.ports[i]);
    }
    stopped.n = 0;
}

/* ---- memory ----------------------------------------------------------------------------------- */

/* Words of a stack: code marks its image, everything else may be a pointer to data. */
static void
note_words(const struct framezero_crash *crash, const struct framezero_area *stack, size_t n,
           bool with_memory)
{
    for (size_t i = 0; i + sizeof(uintptr_t) <= n; i += sizeof(uintptr_t)) {
        uintptr_t word;
        memcpy(&word, work.page + i, sizeof(word));
        uint64_t value = (uint64_t)word & FRAMEZERO_ADDRESS_MASK;
        struct framezero_image *image = framezero_images_find(&work.images, value);
        if (image)
            image->is_hit = true;
        else if (with_memory && (value < stack->low || value >= stack->high) &&
                 (value < work.images.cache_low || value >= work.images.cache_high))
            framezero_regions_add(&work.regions, crash->task, value, FRAMEZERO_BY_STACK);
    }
}

static void
write_stack(const struct framezero_crash *crash, uint64_t sp, size_t most, bool with_memory)
{
    struct framezero_writer *w = &work.writer;
    struct framezero_area stack;
    uint64_t at = sp & ~(uint64_t)(sizeof(uintptr_t) - 1);
    at = at > FRAMEZERO_RED_ZONE ? at - FRAMEZERO_RED_ZONE : at;
    /* After an overflow sp is in the guard; the stack begins at the next readable page. */
    if (!framezero_memory_area(crash->task, at, &stack) || stack.low > at + (1u << 20))
        return;
    at = at < stack.low ? stack.low : at;
    uint64_t end = stack.high - at > most ? at + most : stack.high;
    framezero_write_open(w, "stack", '{');
    framezero_write_hex(w, "address", at);
    framezero_write_bytes_begin(w, "bytes");
    while (at < end) {
        size_t n = FRAMEZERO_PAGE - (size_t)(at % FRAMEZERO_PAGE);
        n = end - at < n ? (size_t)(end - at) : n;
        if (!framezero_memory_read(crash->task, at, work.page, n))
            break;
        framezero_write_bytes(w, work.page, n);
        note_words(crash, &stack, n, with_memory);
        at += n;
    }
    framezero_write_bytes_end(w);
    framezero_write_bool(w, "truncated", at < stack.high);
    framezero_write_close(w, '}');
}

static void
write_region(mach_port_t task, uint64_t addr, size_t size, const char *why)
{
    struct framezero_writer *w = &work.writer;
    bool is_open = false;
    for (size_t done = 0, n; done < size; done += n) {
        n = size - done < sizeof(work.page) ? size - done : sizeof(work.page);
        size_t got = framezero_memory_read_some(task, addr + done, work.page, n);
        if (got && !is_open) {
            framezero_write_open(w, NULL, '{');
            framezero_write_hex(w, "address", addr);
            framezero_write_text(w, "why", why, 16);
            framezero_write_bytes_begin(w, "bytes");
            is_open = true;
        }
        framezero_write_bytes(w, work.page, got);
        if (got < n)
            break;
    }
    if (is_open) {
        framezero_write_bytes_end(w);
        framezero_write_close(w, '}');
    }
}

/* What the memory points to that registers and stacks point to: texts of objects, the next node of a list. */
static void
follow_regions(mach_port_t task)
{
    FRAMEZERO_WORK static struct framezero_regions first;
    first = work.regions;
    /* What registers lead to is read first. */
    for (unsigned i = 0; i < 2 * first.n && work.regions.n < FRAMEZERO_REGIONS; i++) {
        const struct framezero_region *region = &first.list[i % first.n];
        if ((region->why == FRAMEZERO_BY_REGISTER) != (i < first.n))
            continue;
        size_t n = framezero_memory_read_some(task, region->addr, work.page, region->size);
        for (size_t k = 0; k + sizeof(uintptr_t) <= n; k += sizeof(uintptr_t)) {
            uintptr_t word;
            memcpy(&word, work.page + k, sizeof(word));
            uint64_t value = (uint64_t)word & FRAMEZERO_ADDRESS_MASK;
            if (!framezero_images_find(&work.images, value) &&
                (value < work.images.cache_low || value >= work.images.cache_high))
                framezero_regions_add(&work.regions, task, value, FRAMEZERO_BY_MEMORY);
        }
    }
}

static void
write_memory(mach_port_t task)
{
    static const char *const reasons[] = {"register", "stack", "memory"};
    size_t left = FRAMEZERO_DATA_MAX;
    follow_regions(task);
    framezero_write_open(&work.writer, "memory", '[');
    for (unsigned i = 0; i < work.regions.n; i++) {
        const struct framezero_region *region = &work.regions.list[i];
        write_region(task, region->addr, region->size, reasons[region->why]);
    }
    for (unsigned i = 0; i < work.images.n_sections; i++) {
        const struct framezero_section *section = &work.images.sections[i];
        if (section->kind != FRAMEZERO_SECTION_DATA || section->size == 0)
            continue;
        size_t size = section->size < left ? (size_t)section->size : left;
        work.data_cut |= size < section->size;
        write_region(task, section->addr, size, "data");
        left -= size;
    }
    framezero_write_close(&work.writer, ']');
}

/* ---- one thread ------------------------------------------------------------------------------- */

struct level {
    bool stacks, memory;
};

static void
write_frames(const struct framezero_crash *crash)
{
    struct framezero_writer *w = &work.writer;
    bool is_cut;
    unsigned n =
        framezero_frames_read(&work.state, crash->task, &work.images, work.frames, &is_cut);
    framezero_write_open(w, "frames", '[');
    for (unsigned i = 0; i < n; i++)
        framezero_write_hex(w, NULL, work.frames[i]);
    framezero_write_close(w, ']');
    if (is_cut)
        framezero_write_bool(w, "frames_truncated", true);
}

static void
write_thread(const struct framezero_crash *crash, thread_t thread, unsigned index, bool is_crashed,
             struct level level)
{
    struct framezero_writer *w = &work.writer;
    char name[64];
    if (is_crashed && crash->state)
        work.state = *crash->state;
    else
        framezero_state_read(&work.state, thread, is_crashed);
    framezero_thread_name(thread, name);
    framezero_write_open(w, NULL, '{');
    framezero_write_number(w, "index", (int64_t)index);
    framezero_write_text(w, "name", name, sizeof(name));
    framezero_write_bool(w, "crashed", is_crashed);
    if (work.state.has_general) {
        framezero_state_write(&work.state, !level.stacks, w);
        write_frames(crash);
        if (level.memory)
            framezero_state_pointers(&work.state, crash->task, &work.images, &work.regions);
        if (level.stacks)
            write_stack(crash, framezero_state_sp(&work.state),
                        is_crashed ? FRAMEZERO_STACK_CRASHED : FRAMEZERO_STACK_OTHER, level.memory);
    }
    framezero_write_close(w, '}');
}

/* The place of the crashed thread in the list; the first one if that is not known. */
static unsigned
find_crashed(const struct framezero_crash *crash, const struct thread_list *list)
{
    for (unsigned i = 0; i < list->n; i++)
        if (crash->crashed && list->ports[i] == crash->crashed)
            return i;
    for (unsigned i = 0; crash->crashed_id && i < list->n; i++)
        if (framezero_thread_id(list->ports[i]) == crash->crashed_id)
            return i;
    return 0;
}

static void
write_threads(const struct framezero_crash *crash, const struct thread_list *list, unsigned crashed,
              struct level level)
{
    FRAMEZERO_WORK static struct framezero_state none;
    framezero_write_open(&work.writer, "threads", '[');
    work.threads_cut = false;
    if (crashed < list->n)
        write_thread(crash, list->ports[crashed], crashed, true, level);
    else if (crash->state)
        write_thread(crash, crash->crashed, 0, true, level);
    work.state = none;
    unsigned n_written = 1;
    for (unsigned i = 0; i < list->n && !crash->is_second; i++) {
        if (i == crashed || list->ports[i] == crash->handler)
            continue;
        if (n_written++ == FRAMEZERO_THREADS) {
            work.threads_cut = true;
            break;
        }
        write_thread(crash, list->ports[i], i, false, level);
    }
    framezero_write_close(&work.writer, ']');
}

/* ---- the report -------------------------------------------------------------------------------- */

static void
write_capture(const struct framezero_crash *crash, uint32_t privacy)
{
    static const char *const levels[] = {"addresses", "stack", "values"};
    struct framezero_writer *w = &work.writer;
    framezero_write_open(w, "capture", '{');
    framezero_write_text(w, "client", "framezero " FRAMEZERO_CLIENT_VERSION, 32);
    framezero_write_text(w, "way", crash->way, 16);
    framezero_write_text(w, "privacy", levels[privacy], 16);
    if (crash->is_second)
        framezero_write_bool(w, "handler_crashed", true);
    framezero_write_open(w, "truncated", '[');
    if (work.threads_cut)
        framezero_write_text(w, NULL, "threads", 16);
    if (work.images.is_cut || work.images.is_unknown)
        framezero_write_text(w, NULL, "images", 16);
    if (work.regions.is_full)
        framezero_write_text(w, NULL, "memory", 16);
    if (work.data_cut)
        framezero_write_text(w, NULL, "data", 16);
    framezero_write_close(w, ']');
    framezero_write_close(w, '}');
}

struct framezero_images *
framezero_capture_images(mach_port_t task)
{
    framezero_images_read(&work.images, task);
    return &work.images;
}

bool
framezero_capture(const struct framezero_crash *crash, const struct framezero_record *record,
                  int fd)
{
    struct framezero_writer *w = &work.writer;
    struct thread_list list;
    uint8_t id[16];
    uint32_t privacy = crash->is_second || record->privacy > FRAMEZERO_VALUES ? FRAMEZERO_ADDRESSES
                                                                              : record->privacy;
    struct level level = {privacy != FRAMEZERO_ADDRESSES, privacy == FRAMEZERO_VALUES};

    framezero_images_read(&work.images, crash->task);
    work.regions.n = 0;
    work.regions.is_full = work.data_cut = false;
    list_threads(crash->task, &list);
    unsigned crashed = find_crashed(crash, &list);

    /* One run may have a report of the handler, one of the extension and one of a hang; each has an id of its own. */
    memcpy(id, record->run_id, sizeof(id));
    id[15] = (uint8_t)(id[15] ^ crash->way[0]);

    struct framezero_description about = {crash, record, &work.images, crashed, privacy};
    framezero_write_start(w, fd);
    framezero_write_open(w, NULL, '{');
    framezero_write_number(w, "framezero", 1);
    framezero_write_uuid(w, "id", id);
    framezero_write_uuid(w, "run_id", record->run_id);
    framezero_describe_origin(record, w);
    framezero_describe_crash(&about, w);
    write_threads(crash, &list, crashed, level);
    if (level.memory)
        write_memory(crash->task);
    framezero_images_write(&work.images, crash->task, w);
    write_capture(crash, privacy);
    framezero_write_close(w, '}');
    free_threads(&list);
    return framezero_write_finish(w);
}
