/*
 * The demanglers by language, private to symbolicator/demangle.
 *
 * Each takes a name of at most DEMANGLE_NAME_MAX bytes, without the underscore of Mach-O. It
 * returns true and appends the readable form, or returns false and appends nothing. Recursion is
 * limited, and so is the text to DEMANGLE_TEXT_MAX bytes: a few substitutions in a mangled name can
 * expand to gigabytes.
 *
 * To add a language, add a folder here and a row in demangle.c.
 */
#ifndef SYM_DEMANGLE_LANGUAGE_H
#define SYM_DEMANGLE_LANGUAGE_H

#include "base/buffer.h"
#include "symbolicator/demangle/declaration.h"
#include "symbolicator/symbolicator.h"

enum { DEMANGLE_NAME_MAX = 64 * 1024, DEMANGLE_TEXT_MAX = 64 * 1024 };

/* sym_demangle() without the name that it leaves unchanged, and the language; false, and nothing
 * appended, if the name is not mangled. */
bool sym_demangle_mangled(const char *name, bool is_macho_symbol,
                          const struct sym_demangle_options *options, struct fz_buffer *out,
                          enum sym_language *ret_language);

/* Itanium C++, blocks in C++ functions ("___Z..._block_invoke") and suffixes (".cold", ".llvm.1")
 * as LLVM prints them. */
bool sym_demangle_cxx(const char *name, const struct sym_demangle_options *options,
                      struct fz_buffer *out);

/* Rust: v0 (_R...) and legacy (_ZN...17h<16 hex digits>E; only names that C++ cannot have). */
bool sym_demangle_rust(const char *name, const struct sym_demangle_options *options,
                       struct fz_buffer *out);

/* Swift, all versions; simplified: without modules, types of functions, private names. */
bool sym_demangle_swift(const char *name, const struct sym_demangle_options *options,
                        struct fz_buffer *out);

/*
 * Decode Punycode: the code points of `basic`, and those that `encoded` inserts, into `ret`, which
 * has room for `room`. Digits are "a" to "z", then ten characters from `digit_26` on. Returns their
 * number; 0 if it is malformed or too long. Surrogates are the caller's concern.
 */
size_t sym_demangle_punycode(struct fz_span basic, struct fz_span encoded, char digit_26,
                             uint32_t *ret, size_t room);
void sym_demangle_put_utf8(uint32_t code, struct fz_buffer *out);

/* Append C++ text without the default arguments of the standard library's templates. */
void sym_demangle_cxx_simplify(struct fz_span text, struct fz_buffer *out);

#endif
