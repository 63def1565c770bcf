/*
 * Plain stacks as text: the dialects that stand in files of their own, for stack_text.c. They share
 * struct crash_text, since a stack may come with a head and images like Apple's. Private to this
 * folder.
 */
#ifndef INGEST_TEXT_STACK_TEXT_H
#define INGEST_TEXT_STACK_TEXT_H

#include "server/ingest/text/crash_text.h"

/* stack_lldb.c: a line of lldb's `bt`: "frame #0: 0x104004068 Demo`inner(x=21) at work.c:2:9". */
bool stack_lldb_frame(struct fz_span line, struct text_frame *ret);
/* "* thread #1, queue = 'q', stop reason = EXC_BAD_ACCESS (code=1, address=0x10)": begins a thread;
 * false if the line is none. */
bool stack_lldb_take_thread(struct crash_text *c, struct fz_span line);

/* stack_sample.c: the tree of `sample` and of spindump; each path to a leaf is a thread. */
struct sample_node {
    size_t column;         /* where its count stands; its callees stand further right */
    uint32_t count, below; /* samples in all, and in its callees */
    bool is_frame;         /* else the root of a thread */
    struct text_frame frame;
};

struct stack_sample {
    struct crash_text *c;
    struct sample_node *nodes; /* from the root to the line that was read last */
    size_t n, room;
    struct fz_span name, queue; /* of the thread that is read */
    bool in_tree;
};

/* Does the line belong to a tree? For telling the format. */
bool stack_sample_is_line(struct fz_span line);
/* Headings that begin or end a tree, and its lines; false if the line is neither. */
bool stack_sample_take(struct stack_sample *s, struct fz_span line, size_t indent);
/* The last leaves. */
void stack_sample_end(struct stack_sample *s);

#endif
