/*
 * What Apple's two formats have in common: names of processors, Apple's times, offsets into images.
 * Private to this folder.
 */
#ifndef REPORT_APPLE_H
#define REPORT_APPLE_H

#include "base/arch/registers.h"
#include "server/report/extra.h"
#include "server/report/render.h"

/* Did the report come as an .ips, so that its extras have the names of .ips? */
bool report_apple_is_ips(const struct report *report);

/* "ARM-64", "X86-64"...; "" if it is not known. Static. */
const char *report_apple_cpu_name(enum fz_arch_cpu cpu);

/* The system as Apple's reports name it: "iPhone OS" for iOS, "Mac OS X" for macOS before 11. NULL
 * if it is not known. */
const char *report_apple_os_name(const struct report *report);

/* The text that a time came as, with its zone and its digits: false if there is none at `path`, or
 * it is another time than `unix_ms`. A text that is not a time is taken as it is. */
bool report_apple_time_text(const json_t *extra, const char *path, int64_t unix_ms,
                            struct fz_buffer *out);

/* "2026-01-01 00:00:00.1250 +0000", UTC; `fraction` is the number of digits after the second. */
void report_apple_time(int64_t unix_ms, unsigned fraction, char ret[40]);

/* The id as Apple spells it: dashed upper case if it is a UUID, else as it is. Room for any UUID;
 * longer ids are cut. */
void report_apple_id(const struct report *report, const struct report_envelope *envelope,
                     char ret[64]);

/* The app's own image: the one that has the name of the process or app, else the first if its path
 * is not that of a library; NULL if it is not known. */
const struct report_image *report_apple_main_image(const struct report *report);

/* The image of a frame, also before resolve; NULL if there is none. */
const struct report_image *report_apple_frame_image(const struct report *report,
                                                    const struct report_frame *frame);

/* Of the frame's address from the start of that image. An address may be signed, then only the
 * frame's own offset leads to it; but the bit that says Thumb is in the address alone. */
uint64_t report_apple_frame_offset(const struct report_image *image,
                                   const struct report_frame *frame);

/* The name of a function as Apple's tools show it; NULL if it has none. */
const char *report_apple_function(const struct report_symbol *symbol);

/* "KERN_INVALID_ADDRESS at 0x0000000000000010" in `ret`; "" if the exception has no more than its
 * codes. */
void report_apple_subtype(const struct report_crash *crash, char *ret, size_t size);

/* "0x0000000000000001, 0x0000000000000010": the Mach codes; "" without. */
void report_apple_codes(const struct report_crash *crash, struct fz_buffer *out);

/* "*** Terminating app due to uncaught exception 'NSRangeException', reason: '...'", or the reason
 * alone; nothing if one of the report's messages says as much. */
void report_apple_thrown(const struct report_crash *crash, struct fz_buffer *out);

/* The thread to mark as the one that crashed; NULL if none is, as in a report of a hang. */
const struct report_thread *report_apple_crashed(const struct report *report);

/* The number to show for a thread: its own, unless the number of some thread is not one that
 * Apple's tools use (below 0, or a kernel's id); then all are shown by their place. */
int64_t report_apple_index(const struct report *report, const struct report_thread *thread);

/* A text that a format left in JSON of its own: member `key`, or `inner` of that object (NULL: the
 * member itself). False if there is none. */
bool report_apple_text_in(const char *json, const char *key, const char *inner,
                          struct fz_buffer *out);

#endif
