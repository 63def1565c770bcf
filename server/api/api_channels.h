/*
 * What the routes of channels and of their deliveries share.
 */
#ifndef API_CHANNELS_H
#define API_CHANNELS_H

#include "server/api/api_client.h"
#include "storage/store_outbox.h"

/* The channel {id} of the request. NOT_FOUND. */
FZ_MUST_CHECK enum fz_code api_channel_find(struct api_call *call, struct store_channel *ret,
                                            struct fz_error *err);
/* A parameter of the path that is a number; 0: it is not one, and nothing has it. */
int64_t api_channel_number(const struct http_request *request, const char *name);

#endif
