/*
 * The work of `framezero upload`: find the symbol files under some paths, ask the server which of
 * them it lacks, send those, and say what became of each.
 *
 * Each slice is sent by itself, so that of a fat file with two known architectures and a new one
 * only the new one travels, and archives need not be read twice.
 */
#ifndef CLI_UPLOAD_SEND_H
#define CLI_UPLOAD_SEND_H

#include "server/cli/upload_client.h"

/* One line per file on standard error and a summary on standard output. Returns the exit code: 0
 * only if something was found and all of it is stored. */
int upload_send(const struct upload_client_config *to, const char **paths, size_t n_paths,
                bool force);

#endif
