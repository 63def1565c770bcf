/*
 * The tables of the doors, one a file. Private to this folder.
 */
#ifndef CLIENTS_PRIVATE_H
#define CLIENTS_PRIVATE_H

#include "server/api/api_client.h"
#include "server/clients/clients.h"

extern const struct api_routes clients_sentry;         /* sentry.c */
extern const struct api_routes clients_sentry_cli;     /* sentry_routes.c */
extern const struct api_routes clients_symbolicate_v5; /* symbolicate_v5.c */
extern const struct api_routes clients_senders;        /* senders.c */
extern const struct api_routes clients_uploaders;      /* uploaders.c */

#endif
