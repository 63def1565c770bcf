/*
 * The client protocols: Sentry's SDKs and command line, symbol uploaders, crash senders, the
 * Firefox Profiler. Each is a file or a folder with a table of routes, as server/api/api_client.h
 * describes.
 */
#ifndef CLIENTS_H
#define CLIENTS_H

#include <stddef.h>

struct api_routes;

/* All tables, for api_config.clients; static. */
const struct api_routes *const *clients_all(size_t *ret_n);

/* Those of the files of this folder; each protocol with a folder has its own in that folder. */
extern const struct api_routes clients_senders;   /* senders.c */
extern const struct api_routes clients_uploaders; /* uploaders.c */

#endif
