/*
 * Plain stacks as text: the dialects with a file of their own, for stack.c. They share struct
 * ingest_text, since a stack may come with a head and images like Apple's. Private to this folder.
 */
#ifndef INGEST_TEXT_STACK_H
#define INGEST_TEXT_STACK_H

#include "server/ingest/text/text.h"

/* stack_lldb.c: a line of lldb's `bt`: "frame #0: 0x104004068 Demo`inner(x=21) at work.c:2:9". */
bool ingest_text_lldb_frame(struct fz_span line, struct ingest_text_frame *ret);
/* "* thread #1, queue = 'q', stop reason = EXC_BAD_ACCESS (code=1, address=0x10)": begins a thread;
 * false for other lines. */
bool ingest_text_read_lldb_thread(struct ingest_text *c, struct fz_span line);

/* stack_sample.c: the tree of `sample` and of spindump; each path to a leaf is a thread. */
struct ingest_text_call {
    size_t column;         /* of its count; the counts of its callees are further right */
    uint32_t count, below; /* samples in all, and in its callees */
    bool is_frame;         /* else the root of a thread */
    struct ingest_text_frame frame;
};

struct ingest_text_sample {
    struct ingest_text *c;
    struct ingest_text_call *nodes; /* from the root to the line that was read last */
    size_t n, room;
    struct fz_span name, queue; /* of the current thread */
    bool in_tree;
};

/* Does the line belong to a tree? For detection. */
bool ingest_text_sample_is_line(struct fz_span line);
/* A heading that begins or ends a tree, or a line of it; false for other lines. */
bool ingest_text_sample_take(struct ingest_text_sample *s, struct fz_span line, size_t indent);
/* At the end of the text: add the stacks that are still open. */
void ingest_text_sample_end(struct ingest_text_sample *s);

#endif
