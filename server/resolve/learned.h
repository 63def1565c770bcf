/*
 * Names that other reports gave, for frames that have none.
 *
 * Private to resolve. Runs when all frames are looked up, so that each image is asked for once.
 */
#ifndef RESOLVE_LEARNED_H
#define RESOLVE_LEARNED_H

#include "server/resolve/symbols.h"

/* Ask names->options->learned, if it is set, for the frames without symbols that are outside of the
 * app's own code. */
FZ_MUST_CHECK enum fz_code resolve_names_learned(struct resolve_names *names, struct report *report,
                                                 void *user, struct fz_error *err);

#endif
