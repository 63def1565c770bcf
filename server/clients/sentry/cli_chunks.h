/*
 * What cli_files.c needs to put files together from chunks.
 */
#ifndef CLIENTS_SENTRY_CLI_CHUNKS_H
#define CLIENTS_SENTRY_CLI_CHUNKS_H

#include "server/api/api_client.h"

/* Random bytes before a chunk's own in its blob. */
enum { SENTRY_CHUNK_HEAD = 16 };

/* The largest file that may be put together. */
uint64_t sentry_file_max(const struct api_call *call);

#endif
