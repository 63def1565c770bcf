/*
 * UUIDs of images and reports in one canonical form.
 *
 * Clients spell the same Mach-O UUID in four ways (protocol facts: dashed upper, dashed lower,
 * plain lower, and the Breakpad debug id with an age after it); all of them parse to the same 16
 * bytes.
 */
#ifndef FZ_UUID_H
#define FZ_UUID_H

#include "base/span.h"

enum { FZ_UUID_TEXT = 33, FZ_UUID_DASHED = 37 }; /* buffer sizes, NUL included */

struct fz_uuid {
    uint8_t bytes[16];
};

/* Parse 32 hex digits, up to 5 dashes ignored, either case, optionally inside <> or {}; up to 8
 * further hex digits (the Breakpad age, "...-0" in its dashed form) are allowed and dropped. False
 * and *ret untouched otherwise. */
bool fz_uuid_parse(struct fz_span text, struct fz_uuid *ret);

/* 32 lower-case hex digits. */
void fz_uuid_format(const struct fz_uuid *uuid, char ret[FZ_UUID_TEXT]);
/* 8-4-4-4-12, lower case. */
void fz_uuid_format_dashed(const struct fz_uuid *uuid, char ret[FZ_UUID_DASHED]);

bool fz_uuid_equal(const struct fz_uuid *a, const struct fz_uuid *b);
bool fz_uuid_is_nil(const struct fz_uuid *uuid);

/* A new version 7 UUID (RFC 9562, 5.7): time-ordered, 74 random bits. */
struct fz_uuid fz_uuid_new(void);

#endif
