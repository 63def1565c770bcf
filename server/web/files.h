/*
 * The files of the page (server/web/page), compiled in by embed.py, its modules joined by join.py.
 *
 * Each file but index.html is at /assets/TAG/PATH, where TAG is the hash of all of them, and never
 * changes. index.html is at "/" and at every path of the page: a script shows what the path names.
 */
#ifndef WEB_FILES_H
#define WEB_FILES_H

#include <stddef.h>

struct web_file {
    const char *path; /* in the address: "app.js" */
    const char *type; /* Content-Type */
    const unsigned char *plain;
    size_t plain_len;
    const unsigned char *gzip; /* the same, compressed; for clients without brotli */
    size_t gzip_len;
    const unsigned char
        *brotli; /* a seventh smaller; browsers ask for it on HTTPS and localhost only */
    size_t brotli_len;
};

/* Ordered by path, as strcmp() does. */
extern const struct web_file web_files_all[];
extern const size_t web_files_n;
extern const char web_files_tag[];

/* The file at this path; NULL if there is none. */
const struct web_file *web_files_find(const char *path);

#endif
