#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "loader.h"

/*
 * Exception ports: one message at a time goes from the thread that crashed to the thread that receives on the port, and
 * an answer back. A second thread that crashes waits for its turn, as in the kernel.
 */
enum { TYPES = 14, PORT = 0x907, NO_PORT = 0x907 + 0x100, MESSAGE_SIZE = 76, ANSWER_SIZE = 36 };
enum { SLOT_EMPTY, SLOT_SENT, SLOT_TAKEN, SLOT_ANSWERED };
enum { SEND = 1, RECEIVE = 2, KERN_FAILURE = 5 };

static struct {
    uint32_t port;
    int behaviour, flavour;
} registered[TYPES];

static struct {
    volatile int lock, state;
    uint32_t thread;
    int32_t exception, result;
    uint64_t codes[2];
} slot;

static void
pause_shortly(void)
{
    struct timespec pause = {.tv_nsec = 200000};
    nanosleep(&pause, NULL);
}

bool
loader_exception_raise(struct loader_thread *thread, int type, const uint64_t codes[2])
{
    if (type <= 0 || type >= TYPES || registered[type].port != PORT)
        return false;
    while (__atomic_test_and_set(&slot.lock, __ATOMIC_SEQ_CST))
        pause_shortly();
    bool goes_on = false;
    /* The handler may have restored the old ports while this thread waited. */
    if (registered[type].port == PORT) {
        slot.thread = loader_port_of_thread(thread);
        slot.exception = type;
        memcpy(slot.codes, codes, sizeof(slot.codes));
        __atomic_store_n(&slot.state, SLOT_SENT, __ATOMIC_SEQ_CST);
        while (__atomic_load_n(&slot.state, __ATOMIC_SEQ_CST) != SLOT_ANSWERED)
            pause_shortly();
        goes_on = slot.result == 0;
    }
    slot.state = SLOT_EMPTY;
    __atomic_clear(&slot.lock, __ATOMIC_SEQ_CST);
    return goes_on;
}

static void
put32(uint8_t *bytes, size_t off, uint32_t value)
{
    memcpy(bytes + off, &value, 4);
}

/* The layout of mach_exc.defs: see client/src/mach.c. */
static int
receive(uint8_t *message, uint32_t size)
{
    if (size < MESSAGE_SIZE)
        return 0x10004004;
    while (__atomic_load_n(&slot.state, __ATOMIC_SEQ_CST) != SLOT_SENT)
        pause_shortly();
    memset(message, 0, MESSAGE_SIZE);
    put32(message, 0, 0x80001112);
    put32(message, 4, MESSAGE_SIZE);
    put32(message, 8, 0xb03);
    put32(message, 12, PORT);
    put32(message, 20, 2405);
    put32(message, 24, 2);
    put32(message, 28, slot.thread);
    put32(message, 40, LOADER_TASK);
    put32(message, 60, (uint32_t)slot.exception);
    put32(message, 64, 2);
    memcpy(message + 68, slot.codes, 16);
    slot.state = SLOT_TAKEN;
    return 0;
}

static int
shim_mach_msg(uint8_t *message, int option, uint32_t send_size, uint32_t receive_size,
              uint32_t receive_port, uint32_t timeout, uint32_t notify)
{
    uint32_t id;
    (void)timeout, (void)notify;
    if (option & RECEIVE)
        return receive_port == PORT ? receive(message, receive_size) : 0x10004002;
    memcpy(&id, message + 20, 4);
    if (!(option & SEND) || send_size != ANSWER_SIZE || id != 2505 || slot.state != SLOT_TAKEN)
        return 0x10000003;
    memcpy(&slot.result, message + 32, 4);
    __atomic_store_n(&slot.state, SLOT_ANSWERED, __ATOMIC_SEQ_CST);
    return 0;
}

static int
shim_port_allocate(uint32_t task, int right, uint32_t *ret)
{
    (void)task, (void)right;
    *ret = PORT;
    return 0;
}

static int
shim_port_insert_right(void)
{
    return 0;
}

static int
shim_get_exception_ports(uint32_t task, uint32_t mask, uint32_t *masks, uint32_t *n,
                         uint32_t *ports, int *behaviours, int *flavours)
{
    (void)task;
    uint32_t at = 0;
    for (int type = 1; type < TYPES; type++) {
        if (!(mask >> type & 1) || at == *n)
            continue;
        masks[at] = 1u << type;
        ports[at] = registered[type].port;
        behaviours[at] = registered[type].behaviour;
        flavours[at] = registered[type].flavour;
        at++;
    }
    *n = at;
    return 0;
}

static int
shim_set_exception_ports(uint32_t task, uint32_t mask, uint32_t port, int behaviour, int flavour)
{
    (void)task;
    for (int type = 1; type < TYPES; type++) {
        if (!(mask >> type & 1))
            continue;
        registered[type].port = port;
        registered[type].behaviour = behaviour;
        registered[type].flavour = flavour;
    }
    return 0;
}

const struct loader_symbol loader_symbols_messages[] = {
    {"_mach_msg", shim_mach_msg},
    {"_mach_port_allocate", shim_port_allocate},
    {"_mach_port_insert_right", shim_port_insert_right},
    {"_task_get_exception_ports", shim_get_exception_ports},
    {"_task_set_exception_ports", shim_set_exception_ports},
    {NULL, NULL},
};
