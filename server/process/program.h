/*
 * Which files the running program starts: itself again for its other roles, and framezero-child for
 * everything that parses foreign bytes.
 */
#ifndef PROCESS_PROGRAM_H
#define PROCESS_PROGRAM_H

#include <limits.h>

#include "base/error.h"

/* The path to execute; it stays right after an upgrade has replaced the program's file. Borrowed for ever. */
const char *program_path(void);

/*
 * The path of framezero-child, in the folder of the running program, also after an upgrade has
 * replaced that program's file. INTERNAL: it is not there or cannot be executed; the text names it.
 */
FZ_MUST_CHECK enum fz_code program_child_path(char ret[PATH_MAX], struct fz_error *err);

#endif
