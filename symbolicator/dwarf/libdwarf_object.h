/*
 * A slice given to libdwarf: its own sections where they are mapped, nothing copied.
 *
 * Private to symbolicator/dwarf; the only files that include libdwarf.h include this one.
 */
#ifndef DWARF_LIBDWARF_OBJECT_H
#define DWARF_LIBDWARF_OBJECT_H

#include <libdwarf.h>

#include "base/error.h"
#include "symbolicator/macho/macho.h"

struct libdwarf_object; /* opaque */

/*
 * Open libdwarf on the sections of `macho`, which must outlive the object: on `only` of them, or
 * with NULL on __eh_frame and all of __DWARF. The caller owns *ret and ends it with
 * libdwarf_object_close(); that frees all that libdwarf gave out.
 *
 * NOT_FOUND: no debug information. MALFORMED: libdwarf refuses it.
 */
FZ_MUST_CHECK enum fz_code libdwarf_object_open(const struct sym_macho *macho,
                                                const struct sym_section *only,
                                                struct libdwarf_object **ret, struct fz_error *err);
void libdwarf_object_close(struct libdwarf_object *object);
void libdwarf_object_closep(struct libdwarf_object **object);

Dwarf_Debug libdwarf_object_debug(const struct libdwarf_object *object);

/* The failure of a libdwarf call as MALFORMED "libdwarf: <what>: <its text>"; frees `error`. */
enum fz_code libdwarf_object_fail(const struct libdwarf_object *object, Dwarf_Error error,
                                  const char *what, struct fz_error *err);

#endif
