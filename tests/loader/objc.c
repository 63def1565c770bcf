#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader.h"

/*
 * As much of the Objective-C runtime as programs with their own classes need: messages to them, alloc and init, an
 * exception that no one catches. Layouts: objc4's objc-runtime-new.h.
 */
enum { RELATIVE_METHODS = 0x80000000u, ENTRY_MASK = 0xfffc };

struct class_ro {
    uint32_t flags, instance_start, instance_size, reserved;
    uint64_t ivar_layout;
    const char *name;
    const uint8_t *methods; /* {u32 entry size and flags, u32 count, entries} */
};

struct class
{
    struct class *isa, *superclass;
    uint64_t cache, cache_mask, data;
};

static uint64_t cache;

static const struct class_ro *
ro_of(const struct class *class)
{
    return (const struct class_ro *)(class->data & 0x00007ffffffffff8ull);
}

static void *
find_method(const struct class_ro *ro, const char *selector)
{
    const uint8_t *list = ro ? ro->methods : NULL;
    uint32_t flags, count;
    if (!list)
        return NULL;
    memcpy(&flags, list, 4);
    memcpy(&count, list + 4, 4);
    const uint8_t *entry = list + 8;
    for (uint32_t i = 0; i < count; i++, entry += flags & ENTRY_MASK) {
        if (flags & RELATIVE_METHODS) {
            int32_t off[3];
            memcpy(off, entry, sizeof(off));
            const char *name = *(const char *const *)(entry + off[0]);
            if (!strcmp(name, selector))
                return (void *)(entry + 8 + off[2]);
        } else {
            const void *const *method = (const void *const *)entry;
            if (!strcmp(method[0], selector))
                return (void *)(uintptr_t)method[2];
        }
    }
    return NULL;
}

static void *
same_object(void *self)
{
    return self;
}

static void *
make_object(struct class *class)
{
    struct class **object = calloc(1, ro_of(class)->instance_size);
    *object = class;
    return object;
}

static void *
class_of(struct class **object)
{
    return *object;
}

static void *
alloc_init(struct class *class)
{
    return make_object(class);
}

void *
loader_method(struct class **object, const char *selector)
{
    static const struct {
        const char *name;
        void *function;
    } builtin[] = {{"alloc", make_object},   {"init", same_object},        {"retain", same_object},
                   {"release", same_object}, {"autorelease", same_object}, {"self", same_object},
                   {"class", class_of}};
    for (const struct class *class = object ? *object : NULL; class; class = class->superclass) {
        void *method = find_method(ro_of(class), selector);
        if (method)
            return method;
    }
    for (size_t i = 0; i < sizeof(builtin) / sizeof(*builtin); i++)
        if (!strcmp(builtin[i].name, selector))
            return builtin[i].function;
    /* A message to nil has no effect. */
    if (object)
        fprintf(stderr, "loader: no method %s\n", selector);
    return object ? NULL : (void *)same_object;
}

/* Keeps every register that carries an argument, then jumps to the method. */
void loader_message_send(void);
#ifdef __aarch64__
__asm__(".globl loader_message_send\n"
        ".type loader_message_send, %function\n"
        "loader_message_send:\n"
        "    stp x29, x30, [sp, #-208]!\n"
        "    mov x29, sp\n"
        "    stp x0, x1, [sp, #16]\n"
        "    stp x2, x3, [sp, #32]\n"
        "    stp x4, x5, [sp, #48]\n"
        "    stp x6, x7, [sp, #64]\n"
        "    stp q0, q1, [sp, #80]\n"
        "    stp q2, q3, [sp, #112]\n"
        "    stp q4, q5, [sp, #144]\n"
        "    stp q6, q7, [sp, #176]\n"
        "    bl loader_method\n"
        "    mov x16, x0\n"
        "    ldp x0, x1, [sp, #16]\n"
        "    ldp x2, x3, [sp, #32]\n"
        "    ldp x4, x5, [sp, #48]\n"
        "    ldp x6, x7, [sp, #64]\n"
        "    ldp q0, q1, [sp, #80]\n"
        "    ldp q2, q3, [sp, #112]\n"
        "    ldp q4, q5, [sp, #144]\n"
        "    ldp q6, q7, [sp, #176]\n"
        "    ldp x29, x30, [sp], #208\n"
        "    br x16\n");
#else
__asm__(".globl loader_message_send\n"
        ".type loader_message_send, @function\n"
        "loader_message_send:\n"
        "    pushq %rbp\n"
        "    movq %rsp, %rbp\n"
        "    subq $176, %rsp\n"
        "    movq %rdi, (%rsp)\n"
        "    movq %rsi, 8(%rsp)\n"
        "    movq %rdx, 16(%rsp)\n"
        "    movq %rcx, 24(%rsp)\n"
        "    movq %r8, 32(%rsp)\n"
        "    movq %r9, 40(%rsp)\n"
        "    movaps %xmm0, 48(%rsp)\n"
        "    movaps %xmm1, 64(%rsp)\n"
        "    movaps %xmm2, 80(%rsp)\n"
        "    movaps %xmm3, 96(%rsp)\n"
        "    movaps %xmm4, 112(%rsp)\n"
        "    movaps %xmm5, 128(%rsp)\n"
        "    callq loader_method\n"
        "    movq %rax, %r11\n"
        "    movq (%rsp), %rdi\n"
        "    movq 8(%rsp), %rsi\n"
        "    movq 16(%rsp), %rdx\n"
        "    movq 24(%rsp), %rcx\n"
        "    movq 32(%rsp), %r8\n"
        "    movq 40(%rsp), %r9\n"
        "    movaps 48(%rsp), %xmm0\n"
        "    movaps 64(%rsp), %xmm1\n"
        "    movaps 80(%rsp), %xmm2\n"
        "    movaps 96(%rsp), %xmm3\n"
        "    movaps 112(%rsp), %xmm4\n"
        "    movaps 128(%rsp), %xmm5\n"
        "    leave\n"
        "    jmp *%r11\n");
#endif

/* ---- NSObject, exceptions, and what is looked up by name -------------------------------------------- */

static struct class_ro object_ro = {.instance_size = 8, .name = "NSObject"};
static struct class_ro object_meta_ro = {.flags = 3, .instance_size = 40, .name = "NSObject"};
static struct class object_meta = {.data = (uint64_t)&object_meta_ro};
static struct class object_class = {.isa = &object_meta, .data = (uint64_t)&object_ro};

static void (*uncaught)(void *exception);

static void
set_uncaught(void (*handler)(void *))
{
    uncaught = handler;
}

static void *
get_uncaught(void)
{
    return (void *)uncaught;
}

/* No one catches anything here: as objc_exception_throw() does when it finds no handler. */
static void
throw_exception(void *exception)
{
    if (uncaught)
        uncaught(exception);
    ((void (*)(void))loader_resolve("_abort"))();
}

static void *
register_name(const char *name)
{
    return (void *)(uintptr_t)name;
}

static void *
look_up(void *handle, const char *name)
{
    char symbol[256];
    (void)handle;
    snprintf(symbol, sizeof(symbol), "_%s", name);
    return (void *)loader_resolve(symbol);
}

const struct loader_symbol loader_symbols_objc[] = {
    {"_dlsym", look_up},
    {"_objc_msgSend", loader_message_send},
    {"_objc_alloc", make_object},
    {"_objc_alloc_init", alloc_init},
    {"_objc_opt_class", class_of},
    {"_objc_opt_self", same_object},
    {"_objc_retain", same_object},
    {"_objc_release", same_object},
    {"__objc_empty_cache", &cache},
    {"_OBJC_CLASS_$_NSObject", &object_class},
    {"_OBJC_METACLASS_$_NSObject", &object_meta},
    {"_NSSetUncaughtExceptionHandler", set_uncaught},
    {"_NSGetUncaughtExceptionHandler", get_uncaught},
    {"_objc_exception_throw", throw_exception},
    {"_sel_registerName", register_name},
    {NULL, NULL},
};
