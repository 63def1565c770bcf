/* What kinds.h says of each kind, as a table. */
#include "symbolicator/demangle/swift/kinds.h"

#include "symbolicator/demangle/swift/print.h"

static const struct sym_swift_kind_info infos[SWIFT_N_KINDS] = {
#define KIND(name, ...) [SWIFT_##name] = {__VA_ARGS__},
    SWIFT_KINDS(KIND)
#undef KIND
};

const struct sym_swift_kind_info *
sym_swift_kinds(void)
{
    return infos;
}

bool
sym_swift_is(const struct sym_swift_node *node, enum sym_swift_flag flag)
{
    return node && (infos[node->kind].flags & (unsigned)flag) != 0;
}
