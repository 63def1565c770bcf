/*
 * The parts of Apple's .ips, one file each. Private to this folder.
 */
#ifndef REPORT_RENDER_IPS_H
#define REPORT_RENDER_IPS_H

#include "server/json/json_write.h"
#include "server/report/render_apple.h"

/* render_ips_crash.c: exception, termination, asi. */
void render_ips_crash(struct json_write *w, const struct report *r);

/* render_ips_stacks.c: threads and lastExceptionBacktrace. Returns whether a frame lies in no
 * image, so that usedImages needs a placeholder behind the report's images. */
bool render_ips_stacks(struct json_write *w, const struct report *r);

#endif
