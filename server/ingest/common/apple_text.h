/*
 * Texts that Apple's formats (.ips, .crash, MetricKit) have in common: systems, exceptions, models.
 *
 * The readers fill members of b->report that are not set yet.
 */
#ifndef INGEST_COMMON_APPLE_TEXT_H
#define INGEST_COMMON_APPLE_TEXT_H

#include "server/ingest/common/json_member.h"

/* "iPhone OS 17.2 (21C62)", "macOS 13.0": name, version, build. Older names become those of today
 * ("iPhone OS" is "iOS", "Mac OS X" is "macOS"), so that reports of one system are found together.
 */
void ingest_apple_os(struct ingest_builder *b, const char *text);

/* What a system is called today, as above: "iOS" for "iPhone OS"; `name` itself if it has had no
 * other name. */
const char *ingest_apple_os_name(const char *name);

/* "*** Terminating app due to uncaught exception 'NSRangeException', reason: '...'": exception and
 * reason. False if the text is another one. */
bool ingest_apple_uncaught(struct ingest_builder *b, const char *text);

/* "KERN_INVALID_ADDRESS at 0x0000000000000010": subtype as it is, code, address. */
void ingest_apple_subtype(struct ingest_builder *b, const char *text);

/* The device's model in a text of several parts: "iPhone15,2", "MacBookPro16,1", or a board as
 * "D73AP"; NULL if it names none. */
const char *ingest_apple_model(struct ingest_builder *b, const char *text);

/* "1.2 (34)" of a version and a build, either may be NULL; NULL if both are. */
const char *ingest_apple_version(struct ingest_builder *b, const char *version, const char *build);

#endif
