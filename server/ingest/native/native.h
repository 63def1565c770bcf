/*
 * The parts of the native report between native.c (outer form) and native_parts.c (threads, images,
 * memory). Private to this folder.
 */
#ifndef INGEST_NATIVE_H
#define INGEST_NATIVE_H

#include "server/ingest/common/json_member.h"

/* Each fills its part of b->report; memory failures stay in b->failed. */
void native_take_threads(struct ingest_builder *b, const json_t *root);
void native_take_addresses(struct ingest_builder *b, const json_t *root);
void native_take_images(struct ingest_builder *b, const json_t *root);
void native_take_memory(struct ingest_builder *b, const json_t *root);

#endif
