/*
 * Compressed debug sections (__zdebug_*), as Go's linker and older GNU tools write them.
 *
 * "ZLIB", the inflated size as 8 bytes big-endian (in files of either byte order), a zlib stream.
 * The size is checked before anyone allocates it. Private to symbolicator.
 */
#ifndef SYM_MACHO_COMPRESSED_H
#define SYM_MACHO_COMPRESSED_H

#include "base/error.h"
#include "symbolicator/macho/macho.h"

/* The bytes of __DWARF,<plain> or, where the file has none, of __DWARF,<compressed>, and which it
 * was; empty if it has neither. `plain` is "__debug_info" or so. */
struct fz_span macho_debug_bytes(const struct sym_macho *macho, const char *plain,
                                 bool *ret_is_compressed);

/* The size that a compressed section inflates to by its own word. MALFORMED: no such header, or
 * more than deflate can make of its bytes. */
FZ_MUST_CHECK enum fz_code macho_compressed_size(struct fz_span section, const char *name,
                                                 size_t *ret_size, struct fz_error *err);

/* Inflate into `out`, which has room for `size` as above; *ret_len bytes of it are good, also when
 * it fails. MALFORMED: the stream is broken or ends early. NO_MEMORY: zlib's own. */
FZ_MUST_CHECK enum fz_code macho_inflate(struct fz_span section, const char *name, uint8_t *out,
                                         size_t size, size_t *ret_len, struct fz_error *err);

#endif
