/*
 * The parts of Apple's crash text, one file each. Private to this folder.
 */
#ifndef REPORT_RENDER_CRASH_H
#define REPORT_RENDER_CRASH_H

#include "server/report/render_apple.h"

/* A foreign text on one line: what could forge a line or steer a terminal becomes '?'. */
void render_crash_text(struct fz_buffer *out, const char *text);

/* render_crash_stacks.c: the backtrace of the exception and the threads. */
void render_crash_stacks(struct fz_buffer *out, const struct report *r);

/* render_crash_registers.c: the registers of the crashed thread as Apple lays them out. */
void render_crash_registers(struct fz_buffer *out, const struct report *r);

#endif
