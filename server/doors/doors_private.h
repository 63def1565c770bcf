/*
 * The tables of the doors, one a file. Private to this folder.
 */
#ifndef DOORS_PRIVATE_H
#define DOORS_PRIVATE_H

#include "server/api/api_door.h"
#include "server/doors/doors.h"

extern const struct api_routes doors_sentry;         /* sentry.c */
extern const struct api_routes doors_sentry_cli;     /* sentry_routes.c */
extern const struct api_routes doors_symbolicate_v5; /* symbolicate_v5.c */
extern const struct api_routes doors_senders;        /* senders.c */
extern const struct api_routes doors_uploaders;      /* uploaders.c */

#endif
