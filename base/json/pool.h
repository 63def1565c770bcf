/*
 * Memory for jansson's values that is given back at once, for a process with one thread that reads one document after the
 * other: a report of 120 KB is ten thousand values, and to free each takes as long as to parse them.
 *
 * jansson's allocator is one for the process. From json_pool_start() to json_pool_end() all values are made in the pool, up to
 * JSON_POOL_BYTES, and what is made after that in the heap as always. A value must not outlive the document.
 */
#ifndef BASE_JSON_POOL_H
#define BASE_JSON_POOL_H

#include <jansson.h>

#include "base/attr.h"

enum { JSON_POOL_BYTES = 64 * 1024 * 1024 };

/* Once, before the first value is made. */
void json_pool_install(void);
void json_pool_start(void);
void json_pool_end(void);
/* Let json_decref() of this tree do nothing if all of it is in the pool. For trees that were just made. */
void json_pool_keep(json_t *tree);

#endif
