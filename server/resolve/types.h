/* Types of language exceptions as the runtime spells them, to readable ones. */
#ifndef RESOLVE_TYPES_H
#define RESOLVE_TYPES_H

#include "base/arena.h"
#include "base/error.h"
#include "server/report/report.h"

/*
 * crash.exception "P16kaboom_exception" (what typeid().name() gives), "_TtC4Shop8NotFound" or "$s..."
 * becomes the readable type, and crash.exception_mangled the name that came. Names of other
 * languages stay: a word counts as mangled only if it has a length or a substitution in it, or is a
 * pointer to a type of the language itself.
 */
FZ_MUST_CHECK enum fz_code resolve_exception_type(struct report *report, struct fz_arena *arena,
                                                  struct fz_error *err);

#endif
