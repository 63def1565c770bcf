#include "threads.h"

#include <string.h>

#if defined(__arm64__) || defined(__aarch64__)
enum {
    GENERAL_FLAVOUR = ARM_THREAD_STATE64,
    FAULT_FLAVOUR = ARM_EXCEPTION_STATE64,
    VECTOR_FLAVOUR = ARM_NEON_STATE64,
    FP = 29,
    LR = 30,
    SP = 31,
    PC = 32,
    GENERAL = 33,
    FLAGS_WORD = 66, /* cpsr */
    VECTORS = 32,
    VECTORS_BYTE = 0,
    FAULT_ADDR_BYTE = 0,
};
static const char *const names[GENERAL] = {
    "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
    "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
    "x22", "x23", "x24", "x25", "x26", "x27", "x28", "fp",  "lr",  "sp",  "pc"};
static const char flags_name[] = "cpsr", vector_letters[] = "v";
#else
enum {
    GENERAL_FLAVOUR = x86_THREAD_STATE64,
    FAULT_FLAVOUR = x86_EXCEPTION_STATE64,
    VECTOR_FLAVOUR = x86_FLOAT_STATE64,
    FP = 6,
    LR = -1,
    SP = 7,
    PC = 16,
    GENERAL = 17,
    FLAGS_WORD = 34, /* rflags */
    VECTORS = 16,
    VECTORS_BYTE = 168, /* xmm0 in the float state */
    FAULT_ADDR_BYTE = 8,
};
static const char *const names[GENERAL] = {"rax", "rbx", "rcx", "rdx", "rdi", "rsi",
                                           "rbp", "rsp", "r8",  "r9",  "r10", "r11",
                                           "r12", "r13", "r14", "r15", "rip"};
static const char flags_name[] = "rflags", vector_letters[] = "xmm";
#endif

static uint64_t
general(const struct framezero_state *state, int index)
{
    uint64_t value;
    memcpy(&value, &state->general[2 * index], sizeof(value));
    return value;
}

void
framezero_state_read(struct framezero_state *state, thread_t thread, bool with_vectors)
{
    mach_msg_type_number_t count = FRAMEZERO_GENERAL_WORDS;
    state->has_general = thread_get_state(thread, GENERAL_FLAVOUR, (thread_state_t)state->general,
                                          &count) == KERN_SUCCESS &&
                         count == FRAMEZERO_GENERAL_WORDS;
    state->has_fault = state->has_vectors = false;
    if (!with_vectors || !state->has_general)
        return;
    count = FRAMEZERO_FAULT_WORDS;
    state->has_fault = thread_get_state(thread, FAULT_FLAVOUR, (thread_state_t)state->fault,
                                        &count) == KERN_SUCCESS &&
                       count == FRAMEZERO_FAULT_WORDS;
    count = FRAMEZERO_VECTOR_WORDS;
    state->has_vectors = thread_get_state(thread, VECTOR_FLAVOUR, (thread_state_t)state->vectors,
                                          &count) == KERN_SUCCESS &&
                         count == FRAMEZERO_VECTOR_WORDS;
}

uint64_t
framezero_state_pc(const struct framezero_state *state)
{
    return general(state, PC) & FRAMEZERO_ADDRESS_MASK;
}

uint64_t
framezero_state_sp(const struct framezero_state *state)
{
    return general(state, SP) & FRAMEZERO_ADDRESS_MASK;
}

bool
framezero_state_fault_addr(const struct framezero_state *state, uint64_t *ret)
{
    if (state->has_fault)
        memcpy(ret, (const uint8_t *)state->fault + FAULT_ADDR_BYTE, sizeof(*ret));
    return state->has_fault;
}

/* ---- writing ---------------------------------------------------------------------------------- */

static void
write_vectors(const struct framezero_state *state, struct framezero_writer *w)
{
    for (int i = 0; i < VECTORS; i++) {
        char name[8];
        size_t n = sizeof(vector_letters) - 1;
        memcpy(name, vector_letters, n);
        if (i >= 10)
            name[n++] = (char)('0' + i / 10);
        name[n++] = (char)('0' + i % 10);
        name[n] = '\0';
        framezero_write_vector(w, name,
                               (const uint8_t *)state->vectors + VECTORS_BYTE + 16 * (size_t)i);
    }
}

void
framezero_state_write(const struct framezero_state *state, bool only_addresses,
                      struct framezero_writer *w)
{
    uint64_t fault_addr;
    framezero_write_open(w, "registers", '{');
    for (int i = 0; i < GENERAL; i++)
        if (!only_addresses || i == PC || i == LR || i == SP || i == FP)
            framezero_write_hex(w, names[i], general(state, i));
    if (!only_addresses) {
        framezero_write_hex(w, flags_name, state->general[FLAGS_WORD]);
        /* x86_64 has no register for it in the report; crash.address says it. */
        if (LR >= 0 && framezero_state_fault_addr(state, &fault_addr)) {
            framezero_write_hex(w, "far", fault_addr);
            framezero_write_hex(w, "esr", state->fault[2]);
        }
        if (state->has_vectors)
            write_vectors(state, w);
    }
    framezero_write_close(w, '}');
}

/* ---- pointers and frames ---------------------------------------------------------------------- */

void
framezero_state_pointers(const struct framezero_state *state, mach_port_t task,
                         struct framezero_images *images, struct framezero_regions *regions)
{
    for (int i = 0; i < GENERAL; i++) {
        uint64_t value = general(state, i) & FRAMEZERO_ADDRESS_MASK;
        struct framezero_image *image = framezero_images_find(images, value);
        if (image)
            image->is_hit = true;
        else if (i != SP && i != FP && i != PC && i != LR &&
                 (value < images->cache_low || value >= images->cache_high))
            framezero_regions_add(regions, task, value, FRAMEZERO_BY_REGISTER);
    }
}

static bool
is_code(struct framezero_images *images, uint64_t addr)
{
    struct framezero_image *image = framezero_images_find(images, addr);
    if (image)
        image->is_hit = true;
    return image != NULL;
}

unsigned
framezero_frames_read(const struct framezero_state *state, mach_port_t task,
                      struct framezero_images *images, uint64_t frames[FRAMEZERO_FRAMES],
                      bool *ret_cut)
{
    unsigned n = 0;
    uint64_t caller = 0;
    *ret_cut = false;
    frames[n++] = framezero_state_pc(state);
    if (!is_code(images, frames[0])) {
        /* A jump to nowhere: the call has put its return address where it always does. */
        if (LR >= 0)
            caller = general(state, LR < 0 ? 0 : LR);
        else
            framezero_memory_read_pointer(task, framezero_state_sp(state), &caller);
        caller &= FRAMEZERO_ADDRESS_MASK;
        if (is_code(images, caller))
            frames[n++] = caller;
    }
    /* A record is {older record, return address}; records of a stack that grows down have ascending addresses. */
    uint64_t fp = general(state, FP) & FRAMEZERO_ADDRESS_MASK;
    while (fp && fp % sizeof(uintptr_t) == 0) {
        uint64_t older, from;
        if (!framezero_memory_read_pointer(task, fp, &older) ||
            !framezero_memory_read_pointer(task, fp + sizeof(uintptr_t), &from))
            break;
        from &= FRAMEZERO_ADDRESS_MASK;
        /* Swift marks async frames in the top nibble, which the mask removes. */
        older &= FRAMEZERO_ADDRESS_MASK;
        if (from == 0)
            break;
        if (n == FRAMEZERO_FRAMES) {
            *ret_cut = true;
            break;
        }
        is_code(images, from);
        if (n != 2 || from != frames[1] || frames[1] != caller)
            frames[n++] = from;
        if (older <= fp)
            break;
        fp = older;
    }
    return n;
}

/* ---- who it is -------------------------------------------------------------------------------- */

uint64_t
framezero_thread_id(thread_t thread)
{
    thread_identifier_info_data_t info = {0};
    mach_msg_type_number_t count = THREAD_IDENTIFIER_INFO_COUNT;
    if (thread_info(thread, THREAD_IDENTIFIER_INFO, (thread_info_t)&info, &count) != KERN_SUCCESS)
        return 0;
    return info.thread_id;
}

void
framezero_thread_name(thread_t thread, char name[64])
{
    thread_extended_info_data_t info;
    mach_msg_type_number_t count = THREAD_EXTENDED_INFO_COUNT;
    memset(&info, 0, sizeof(info));
    if (thread_info(thread, THREAD_EXTENDED_INFO, (thread_info_t)&info, &count) != KERN_SUCCESS)
        info.pth_name[0] = '\0';
    memcpy(name, info.pth_name, 64);
    name[63] = '\0';
}
