/*
 * Which images are the app's own code, and which the system's. Private to this folder.
 */
#ifndef RESOLVE_IN_APP_H
#define RESOLVE_IN_APP_H

#include "server/report/report.h"

/* Is images[number] code of the app itself?
 *
 * By its path where it has one: not in the system's folders, and in an app's bundle, or the
 * process's own file, or the first of all images. Formats that give names only (MetricKit, plain
 * stacks) say less: there it is the image that is named as the process or the app; if none is, the
 * first one, and if the report names neither, every image whose name is not one of the system's. */
bool resolve_in_app_image(const struct report *report, size_t number);

#endif
