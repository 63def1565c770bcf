/*
 * Answers that are made piece by piece from the database, while the client takes them.
 *
 * Each piece has a call of its own, with an arena and a connection that are given back after it: between two pieces a stream
 * holds neither a thread nor a transaction.
 */
#ifndef API_STREAM_H
#define API_STREAM_H

#include "server/api/api_client.h"
#include "server/http/stream.h"

/* Append the next piece to `out`. What call->arena holds ends with the piece. */
typedef enum fz_code (*api_piece_fn)(struct api_call *call, void *state, struct fz_buffer *out,
                                     enum http_stream_step *ret_step, struct fz_error *err);

struct api_stream {
    const char *content_type;
    api_piece_fn piece;
    void *state;              /* in call->arena */
    void (*end)(void *state); /* after the last piece; NULL: the arena is all there is */
};

/*
 * Answer with what `piece` makes; a failure of the first one becomes the answer. Takes what call->arena holds, which lives as
 * long as the stream, and gives the connection of the call back. The stream ends if the token loses the scope read. On failure
 * nothing is answered, and the state is the caller's.
 */
FZ_MUST_CHECK enum fz_code api_stream_answer(struct api_call *call, const struct api_stream *stream,
                                             struct fz_error *err);

#endif
