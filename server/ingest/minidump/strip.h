/*
 * Captured memory in the minidumps of a body, wherever in it they are: alone, in a form, in an
 * envelope. See server/ingest/common/strip.h.
 */
#ifndef INGEST_MINIDUMP_STRIP_H
#define INGEST_MINIDUMP_STRIP_H

#include "server/ingest/common/strip.h"
#include "server/process/limits.h"

void minidump_strip(struct ingest_strip *strip, const struct limits *limits);

#endif
