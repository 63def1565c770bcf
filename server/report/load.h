/*
 * Reading the JSON of a symbolicated report back, in parts: values, threads and images.
 *
 * Private to this folder. A value in another shape than it was written counts as absent; `failed` is set when memory is
 * out, and stays.
 */
#ifndef REPORT_LOAD_H
#define REPORT_LOAD_H

#include "base/json/scan.h"
#include "server/report/report.h"

struct report_load {
    struct report *report;
    struct fz_arena *arena;
    bool failed; /* memory is out */
};

/* ---- load_values.c: a member of an object; NULL, 0 or false without it ---- */

const char *report_load_keep(struct report_load *l, struct fz_span text);
const char *report_load_text(struct report_load *l, const json_t *object, const char *key);
const char *report_load_dump(struct report_load *l, const json_t *object, const char *key);
int64_t report_load_int(const json_t *object, const char *key, int64_t fallback);
uint64_t report_load_u64(const json_t *object, const char *key);
uint32_t report_load_u32(const json_t *object, const char *key);
bool report_load_bool(const json_t *object, const char *key);
int64_t report_load_time(const json_t *object, const char *key);
bool report_load_uuid(const json_t *object, const char *key, struct fz_uuid *ret);
/* The number whose name is the member's text; 0 if none has it. Names may be NULL. */
unsigned report_load_choice(const json_t *object, const char *key, const char *const *names,
                            size_t n);
void *report_load_array(struct report_load *l, const json_t *list, size_t size, size_t *ret_n);
const char **report_load_text_list(struct report_load *l, const json_t *list, size_t *ret_n);

/* ---- load_threads.c ---- */

void report_load_images(struct report_load *l, const json_t *root);
void report_load_threads(struct report_load *l, const json_t *root);

#endif
