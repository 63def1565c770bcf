/*
 * One loaded image written as a line of text. Private to this folder.
 *
 *   0x104000000 - 0x10400bfff Demo arm64  <4c4c445b55553144a12988beb9d5eb60> /private/.../Demo
 *   0x104000000 -        0x10400bfff +com.example.demo (1.2 - 34) <4C4C445B-...> /Applications/...
 *   0x104000000 -        0x10400bfff +Demo x86_64 (1.2 - 34) <4c4c...> /Applications/...
 *   [  0] 4C4C445B-5555-3144-A129-88BEB9D5EB60 0x0000000104000000 /private/.../Demo     lldb
 *   Demo 0x104000000 4c4c445b-5555-3144-a129-88beb9d5eb60            lists of apps, any order
 */
#ifndef INGEST_TEXT_IMAGE_H
#define INGEST_TEXT_IMAGE_H

#include "server/ingest/text/line.h"

/* "<start> - <end> ...", the end inclusive. False if the line is none; `ret->name` may be NULL. */
bool ingest_text_image_parse(struct ingest_builder *b, struct fz_span line,
                             struct report_image *ret);

/* The free dialects: a UUID, one address and a name or path, in any order. */
bool ingest_text_image_parse_free(struct ingest_builder *b, struct fz_span line,
                                  struct report_image *ret);

/* Is it the entry for "no image" that some texts end their list with? */
bool ingest_text_image_is_nothing(const struct report_image *image);

#endif
