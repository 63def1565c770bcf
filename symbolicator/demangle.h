/*
 * Mangled names to readable ones: C++ (Itanium), Rust, Objective-C blocks, Swift.
 */
#ifndef SYM_DEMANGLE_H
#define SYM_DEMANGLE_H

#include "base/buffer.h"

struct sym_demangle_options {
    bool simplified;   /* shorter text for lists: Swift without modules and types, C++ without
                          template arguments' defaults */
    bool keep_hash;    /* Rust's legacy names end in the hash that tells their instances apart */
    bool keep_blocks;  /* names of blocks in Objective-C and C stay as the compiler made them */
    size_t stack_room; /* bytes of stack that the caller has for it, 0 = not known: a C++ name too
                          long for them is demangled on a thread of its own, which costs 20 us */
};

/* stack_room for a process's first thread. */
size_t sym_demangle_stack_room(void);

/*
 * Append the readable form of `name` (a NUL-terminated symbol or linkage name, with or without
 * Mach-O's leading underscore) to `out`. Returns true if it was mangled and understood; otherwise
 * appends the name as it was (one leading underscore of a plain Mach-O C symbol removed only if
 * `is_macho_symbol`).
 *
 * `options` may be NULL. Never fails, never recurses without limit; names above 64 KiB, and those
 * whose readable form is, are returned as they were.
 */
bool sym_demangle(const char *name, bool is_macho_symbol,
                  const struct sym_demangle_options *options, struct fz_buffer *out);

/* True for "__hidden#123_": what bitcode builds have instead of a name. Nothing can be read from
 * it; the dSYM needs its BCSymbolMap first (dsymutil --symbol-map). */
bool sym_demangle_is_hidden(const char *name);

#endif
