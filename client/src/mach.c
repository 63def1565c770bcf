#include "run.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include <TargetConditionals.h>

/*
 * Faults as Mach exceptions: the kernel sends a message to a thread of ours while the thread that crashed waits in the
 * kernel, so this also works when that thread has no stack left.
 *
 * The message of EXCEPTION_DEFAULT with 64-bit codes (mach/mach_exc.defs), packed to 4 bytes:
 *
 *   header 24 · descriptors: count 4, thread 12, task 12 · NDR 8 · exception 4 · number of codes 4 · codes 2 × 8
 *
 * and its answer: header 24 · NDR 8 · result 4, with the id of the message + 100.
 */
#if TARGET_OS_TV

/* tvOS has no mach_msg(): faults arrive as signals only. */
void
framezero_mach_install(void)
{
}

void
framezero_mach_restore(void)
{
}

#else

enum { N_PORTS = EXC_TYPES_COUNT, MESSAGE_ID = 2405, ANSWER = 100, THREAD_STACK = 64 * 1024 };

#pragma pack(push, 4)
struct message {
    mach_msg_header_t header;
    mach_msg_body_t body;
    mach_msg_port_descriptor_t thread, task;
    uint8_t ndr[8];
    int32_t exception;
    uint32_t n_codes;
    int64_t codes[2];
    uint8_t trailer[128];
};
struct answer {
    mach_msg_header_t header;
    uint8_t ndr[8];
    int32_t result;
};
#pragma pack(pop)

static const exception_mask_t mask =
    EXC_MASK_BAD_ACCESS | EXC_MASK_BAD_INSTRUCTION | EXC_MASK_ARITHMETIC | EXC_MASK_BREAKPOINT;

static mach_port_t port;
static struct {
    mach_msg_type_number_t n;
    exception_mask_t masks[N_PORTS];
    mach_port_t ports[N_PORTS];
    exception_behavior_t behaviors[N_PORTS];
    thread_state_flavor_t flavors[N_PORTS];
} old;

void
framezero_mach_restore(void)
{
    for (mach_msg_type_number_t i = 0; i < old.n; i++)
        task_set_exception_ports(mach_task_self(), old.masks[i], old.ports[i], old.behaviors[i],
                                 old.flavors[i]);
}

/* Was someone else registered for this type before? */
static bool
has_old_port(int exception)
{
    for (mach_msg_type_number_t i = 0; i < old.n; i++)
        if ((old.masks[i] >> exception & 1) && old.ports[i] != MACH_PORT_NULL)
            return true;
    return false;
}

static int
signal_of(int exception, int64_t code)
{
    switch (exception) {
    case EXC_BAD_ACCESS:
        return code == KERN_PROTECTION_FAILURE ? SIGBUS : SIGSEGV;
    case EXC_BAD_INSTRUCTION:
        return SIGILL;
    case EXC_ARITHMETIC:
        return SIGFPE;
    default:
        return SIGTRAP;
    }
}

static void
capture(const struct message *message, thread_t self)
{
    struct framezero_crash crash = {
        .way = "mach",
        .crashed = message->thread.name,
        .handler = self,
        .signal = signal_of(message->exception, message->codes[0]),
        .exception = message->exception,
        /* The capture itself may fault: that exception must go elsewhere. Not earlier, because another thread that
         * faults without a handler ends the process. */
        .when_stopped = framezero_mach_restore,
        .n_codes = message->n_codes < 2 ? message->n_codes : 2,
        .codes = {(uint64_t)message->codes[0], (uint64_t)message->codes[1]}};
    if (message->exception == EXC_BAD_ACCESS && crash.n_codes == 2) {
        crash.has_addr = true;
        crash.addr = crash.codes[1];
    }
    framezero_run_write(&crash);
}

static void
reply(const struct message *message, int32_t result)
{
    struct answer answer;
    memset(&answer, 0, sizeof(answer));
    answer.header.msgh_bits = MACH_MSGH_BITS(MACH_MSGH_BITS_REMOTE(message->header.msgh_bits), 0);
    answer.header.msgh_size = sizeof(answer);
    answer.header.msgh_remote_port = message->header.msgh_remote_port;
    answer.header.msgh_id = message->header.msgh_id + ANSWER;
    memcpy(answer.ndr, message->ndr, sizeof(answer.ndr));
    answer.result = result;
    mach_msg(&answer.header, MACH_SEND_MSG, sizeof(answer), 0, MACH_PORT_NULL,
             MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
}

static void *
serve(void *unused)
{
    FRAMEZERO_WORK static struct message message;
    thread_t self = mach_thread_self();
    (void)unused;
    framezero_run_keep(self);
    pthread_setname_np("framezero");
    for (;;) {
        memset(&message, 0, sizeof(message));
        if (mach_msg(&message.header, MACH_RCV_MSG, 0, sizeof(message), port, MACH_MSG_TIMEOUT_NONE,
                     MACH_PORT_NULL) != KERN_SUCCESS)
            return NULL;
        if (message.header.msgh_id != MESSAGE_ID)
            continue;
        if (framezero_run_claim(self) == FRAMEZERO_FIRST)
            capture(&message, self);
        else
            framezero_mach_restore();
        /* With an old port, the instruction faults again and the kernel asks that one; without, signals follow. */
        reply(&message, has_old_port(message.exception) ? KERN_SUCCESS : KERN_FAILURE);
        mach_port_deallocate(mach_task_self(), message.thread.name);
        mach_port_deallocate(mach_task_self(), message.task.name);
    }
}

void
framezero_mach_install(void)
{
    mach_port_t task = mach_task_self();
    pthread_attr_t attributes;
    pthread_t thread;
    old.n = N_PORTS;
    if (mach_port_allocate(task, MACH_PORT_RIGHT_RECEIVE, &port) != KERN_SUCCESS ||
        mach_port_insert_right(task, port, port, MACH_MSG_TYPE_MAKE_SEND) != KERN_SUCCESS ||
        task_get_exception_ports(task, mask, old.masks, &old.n, old.ports, old.behaviors,
                                 old.flavors) != KERN_SUCCESS)
        return;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, THREAD_STACK);
    int failed = pthread_create(&thread, &attributes, serve, NULL);
    pthread_attr_destroy(&attributes);
    /* Without the thread no one would answer, and a crash would hang. */
    if (!failed)
        task_set_exception_ports(task, mask, port,
                                 (exception_behavior_t)(EXCEPTION_DEFAULT | MACH_EXCEPTION_CODES),
                                 THREAD_STATE_NONE);
}

#endif
