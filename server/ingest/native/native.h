/*
 * The parts of the native report between native.c (outer form) and native_parts.c (threads, images,
 * memory). Private to this folder.
 */
#ifndef INGEST_NATIVE_H
#define INGEST_NATIVE_H

#include "server/ingest/common/take.h"

/* Each fills its part of t->report; memory failures stay in t->failed. */
void native_take_threads(struct ingest_take *t, const json_t *root);
void native_take_addresses(struct ingest_take *t, const json_t *root);
void native_take_images(struct ingest_take *t, const json_t *root);
void native_take_memory(struct ingest_take *t, const json_t *root);

#endif
