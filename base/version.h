/*
 * Versions of apps and systems, ordered by their dotted numbers and then by their builds, never by time.
 *
 * The order is that of fz_version_key(): two versions with the same key have the same place ("4.2", "v4.2" and "4.2.0").
 * Any text has a place. At most FZ_VERSION_TEXT bytes of a text are read, so a hostile one costs no more than a real one.
 *
 *   text               numbers   pre-release   build      order
 *   "4.2.1"            4 2 1                              after 4.2 and each of its builds
 *   "v4.2", "4.2.0"    4 2                                the same
 *   "1.0.0-beta.2+45"  1         beta 2        45         before 1.0.0; beta.2 is before beta.11, and so is "1.0b2"
 *   "4.2 (4201)"       4 2                     4201       as "4.2" with the build "4201"
 *   "com.acme@4.2+7"   4 2                     7          a package's name does not count
 *   "main", "9f8e7d6c"                                    no version: before all versions
 *   "", NULL                                              before all texts
 *
 * A number above 2^64 - 1 counts as that. Numbers after the eighth, letters after the 16th of a word, and what exceeds 54 bytes
 * of the key in a pre-release or in a build do not count. Upper and lower case (of ASCII) are the same.
 */
#ifndef FZ_VERSION_H
#define FZ_VERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

enum {
    FZ_VERSION_TEXT = 512,      /* bytes of a text that are read */
    FZ_VERSION_NUMBERS = 8,     /* numbers that count */
    FZ_VERSION_KEY_MAX = 240,   /* bytes of the longest key */
    FZ_VERSION_KEY_FIRST = 0x03 /* keys that begin with a smaller byte are not of versions */
};

/*
 * A key that memcmp() orders as the versions are ordered, of two that begin alike the shorter one first: as SQLite compares a
 * BLOB and PostgreSQL a bytea. Returns its length, at least 2. Texts may be NULL.
 *
 * `build` is a build's own text, NULL or "" if there is none. A build in the text of the version comes before it, but if both
 * are the same, they count once. The key without a build is the beginning of the keys with one: all builds of a version are
 * from that key (included) to its fz_version_key_end() (not included).
 *
 * Stored keys depend on these rules: whoever changes them has to compute stored keys again.
 */
size_t fz_version_key(const char *version, const char *build, uint8_t ret[FZ_VERSION_KEY_MAX]);

/* Make of a key that fz_version_key() made what is after it and all keys that begin with it, and before all others that are
 * after it. Returns the new length. */
size_t fz_version_key_end(uint8_t *key, size_t len);

/* -1, 0, 1: a before, in the same place as, after b. */
int fz_version_compare(const char *version_a, const char *build_a, const char *version_b,
                       const char *build_b);

/* -1, 0, 1 for a version and a bound that may have no build: then all builds of the bound's version are 0. "4.2+45" is at most
 * "4.2", and not after it. */
int fz_version_compare_bound(const char *version, const char *bound);

/* Has the text numbers that it can be ordered by? "main", "9f8e7d6c" and "" have not. */
bool fz_version_is_ordered(const char *version);

/* The numbers, for those who judge whether a version can be real: 999.9.9 after 4.2 is in order, but was never released. */
struct fz_version {
    uint64_t numbers[FZ_VERSION_NUMBERS]; /* without zeros at the end */
    size_t n_numbers;                     /* 0: no version, or 0.0 */
    bool is_pre_release;
};
/* False, and *ret unchanged, for a text that is not ordered. */
bool fz_version_read(const char *version, struct fz_version *ret);

/* Are both on one branch, the versions that share their first two numbers ("10.18.7" and "10.18", "10.18.0.4")? A version that
 * is not ordered is on none. */
bool fz_version_same_branch(const char *a, const char *b);

/*
 * The parts of a release as Sentry's SDKs write it, "com.acme.shop@4.2+4201": app, version, build; each may be empty. Without "@"
 * all of it is the version, in which "+" has no meaning. Spans of the text, which may be NULL.
 */
struct fz_release {
    struct fz_span app, version, build;
};
void fz_release_split(const char *text, struct fz_release *ret);

/* Where a bug was fixed. */
struct fz_version_fix {
    const char *version,
        *build; /* that has the fix; build NULL or "" = all builds of the version */
    const char *newest,
        *newest_build; /* the highest that was known when the fix was entered; NULL or "" = the fix */
};

/*
 * Is a report from this version, of a bug with this fix, a regression?
 *
 * Yes from the fix on upwards, but a fix below the newest version of its time is a hotfix, which the versions between them do
 * not have: it counts on its own branch, and above that newest version. Of several fixes (one for each branch that got one) ask
 * for each; one yes is enough.
 *
 *   fixed in   newest then   report from   regression
 *   10.24.0    10.24.0       10.24.0       yes
 *   10.24.0    10.24.0       10.25.0       yes
 *   10.24.0    10.24.0       10.23.9       no: older
 *   10.24.0    10.24.0       10.18.7       no: made later, but on an older branch
 *   10.18.7    10.24.0       10.18.8       yes: on the branch of the hotfix
 *   10.18.7    10.24.0       10.20.1       no: another branch, which has not got the hotfix
 *   10.18.7    10.24.0       10.24.0       no: it was there before the hotfix
 *   10.18.7    10.24.0       10.24.1       yes: newer than all that was there
 *   4.2 (45)   4.2 (45)      4.2 (44)      no: an older build
 *   4.2        4.2           4.2-beta.3    no: before 4.2
 *   4.2        4.2           main          no: not ordered
 *
 * Invented versions (999.9.9) are above every fix: whoever knows how many users a version has sorts them out first.
 */
bool fz_version_is_regression(const struct fz_version_fix *fix, const char *version,
                              const char *build);

#endif
