/* Declarations with the names, values and layouts of Apple's mach headers, written for the tests of client/: just
 * what its sources use. Layouts: xnu, osfmk/mach. */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef unsigned int natural_t;
typedef int integer_t, kern_return_t, boolean_t;
typedef unsigned int mach_port_t, mach_port_name_t, task_t, thread_t, vm_prot_t, vm_inherit_t;
typedef uintptr_t vm_address_t, vm_size_t, vm_offset_t;
typedef unsigned int mach_msg_type_number_t, mach_msg_bits_t, mach_msg_size_t, mach_msg_timeout_t;
typedef int mach_msg_id_t, mach_msg_option_t, mach_msg_return_t, mach_port_right_t;
typedef unsigned int mach_msg_type_name_t, exception_mask_t, task_flavor_t, thread_flavor_t;
typedef int exception_behavior_t, thread_state_flavor_t, exception_type_t;
typedef natural_t *thread_state_t;
typedef integer_t *task_info_t, *thread_info_t, *vm_region_recurse_info_t;
typedef thread_t thread_act_t, *thread_act_array_t;

#define KERN_SUCCESS 0
#define KERN_INVALID_ADDRESS 1
#define KERN_PROTECTION_FAILURE 2
#define KERN_FAILURE 5
#define MACH_PORT_NULL 0
#define VM_PROT_READ 1

extern mach_port_t mach_task_self_;
#define mach_task_self() mach_task_self_
mach_port_t mach_thread_self(void);
kern_return_t mach_port_allocate(task_t, mach_port_right_t, mach_port_name_t *);
kern_return_t mach_port_deallocate(task_t, mach_port_name_t);
kern_return_t mach_port_insert_right(task_t, mach_port_name_t, mach_port_t, mach_msg_type_name_t);
#define MACH_PORT_RIGHT_RECEIVE 1
#define MACH_MSG_TYPE_MAKE_SEND 20

/* Memory. */
kern_return_t vm_deallocate(task_t, vm_address_t, vm_size_t);
kern_return_t vm_read_overwrite(task_t, vm_address_t, vm_size_t, vm_address_t, vm_size_t *);
kern_return_t vm_region_recurse_64(task_t, vm_address_t *, vm_size_t *, natural_t *,
                                   vm_region_recurse_info_t, mach_msg_type_number_t *);
#pragma pack(push, 4)
typedef struct {
    vm_prot_t protection, max_protection;
    vm_inherit_t inheritance;
    uint64_t offset;
    unsigned int user_tag, ref_count;
    unsigned short shadow_depth;
    unsigned char external_pager, share_mode;
    boolean_t is_submap;
    int behavior;
    uint32_t object_id;
    unsigned short user_wired_count, reserved;
} vm_region_submap_short_info_data_64_t;
#pragma pack(pop)
#define VM_REGION_SUBMAP_SHORT_INFO_COUNT_64 \
    ((mach_msg_type_number_t)(sizeof(vm_region_submap_short_info_data_64_t) / sizeof(natural_t)))

/* Tasks. */
kern_return_t task_threads(task_t, thread_act_array_t *, mach_msg_type_number_t *);
kern_return_t task_info(task_t, task_flavor_t, task_info_t, mach_msg_type_number_t *);
#define TASK_DYLD_INFO 17
#pragma pack(push, 4)
struct task_dyld_info {
    uint64_t all_image_info_addr, all_image_info_size;
    integer_t all_image_info_format;
};
#pragma pack(pop)
#define TASK_DYLD_INFO_COUNT \
    ((mach_msg_type_number_t)(sizeof(struct task_dyld_info) / sizeof(natural_t)))

/* Threads. */
kern_return_t thread_suspend(thread_t);
kern_return_t thread_resume(thread_t);
kern_return_t thread_get_state(thread_t, thread_state_flavor_t, thread_state_t,
                               mach_msg_type_number_t *);
kern_return_t thread_info(thread_t, thread_flavor_t, thread_info_t, mach_msg_type_number_t *);
#define THREAD_IDENTIFIER_INFO 4
typedef struct {
    uint64_t thread_id, thread_handle, dispatch_qaddr;
} thread_identifier_info_data_t;
#define THREAD_IDENTIFIER_INFO_COUNT \
    ((mach_msg_type_number_t)(sizeof(thread_identifier_info_data_t) / sizeof(natural_t)))
#define THREAD_EXTENDED_INFO 5
typedef struct {
    uint64_t pth_user_time, pth_system_time;
    int32_t pth_cpu_usage, pth_policy, pth_run_state, pth_flags, pth_sleep_time, pth_curpri,
        pth_priority, pth_maxpriority;
    char pth_name[64];
} thread_extended_info_data_t;
#define THREAD_EXTENDED_INFO_COUNT \
    ((mach_msg_type_number_t)(sizeof(thread_extended_info_data_t) / sizeof(natural_t)))
#define THREAD_STATE_NONE 13
#define ARM_THREAD_STATE64 6
#define ARM_EXCEPTION_STATE64 7
#define ARM_NEON_STATE64 17
#define x86_THREAD_STATE64 4
#define x86_FLOAT_STATE64 5
#define x86_EXCEPTION_STATE64 6

/* Exceptions. */
#define EXC_BAD_ACCESS 1
#define EXC_BAD_INSTRUCTION 2
#define EXC_ARITHMETIC 3
#define EXC_BREAKPOINT 6
#define EXC_CRASH 10
#define EXC_TYPES_COUNT 14
#define EXC_MASK_BAD_ACCESS (1 << EXC_BAD_ACCESS)
#define EXC_MASK_BAD_INSTRUCTION (1 << EXC_BAD_INSTRUCTION)
#define EXC_MASK_ARITHMETIC (1 << EXC_ARITHMETIC)
#define EXC_MASK_BREAKPOINT (1 << EXC_BREAKPOINT)
#define EXCEPTION_DEFAULT 1
#define MACH_EXCEPTION_CODES 0x80000000
kern_return_t task_get_exception_ports(task_t, exception_mask_t, exception_mask_t *,
                                       mach_msg_type_number_t *, mach_port_t *,
                                       exception_behavior_t *, thread_state_flavor_t *);
kern_return_t task_set_exception_ports(task_t, exception_mask_t, mach_port_t, exception_behavior_t,
                                       thread_state_flavor_t);

/* Messages. */
#pragma pack(push, 4)
typedef struct {
    mach_msg_bits_t msgh_bits;
    mach_msg_size_t msgh_size;
    mach_port_t msgh_remote_port, msgh_local_port;
    mach_port_name_t msgh_voucher_port;
    mach_msg_id_t msgh_id;
} mach_msg_header_t;
typedef struct {
    mach_msg_size_t msgh_descriptor_count;
} mach_msg_body_t;
typedef struct {
    mach_port_t name;
    mach_msg_size_t pad1;
    unsigned int pad2 : 16, disposition : 8, type : 8;
} mach_msg_port_descriptor_t;
#pragma pack(pop)
#define MACH_MSGH_BITS(remote, local) ((remote) | ((local) << 8))
#define MACH_MSGH_BITS_REMOTE(bits) ((bits)&0x1f)
#define MACH_SEND_MSG 1
#define MACH_RCV_MSG 2
#define MACH_MSG_TIMEOUT_NONE 0
mach_msg_return_t mach_msg(mach_msg_header_t *, mach_msg_option_t, mach_msg_size_t, mach_msg_size_t,
                           mach_port_name_t, mach_msg_timeout_t, mach_port_name_t);
