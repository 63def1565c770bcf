#include "server/resolve/in_app.h"

#include <string.h>

#include "base/text.h"

static bool
is_system_path(const char *path)
{
    /* Simulator runtimes are inside Xcode.app, so the system's folders are looked for anywhere. */
    return strstr(path, "/System/Library/") || strstr(path, "/usr/lib/") ||
           strstr(path, "/RuntimeRoot/") || fz_text_has_prefix(path, "/System/");
}

/* Images of the system that stacks show most often. A framework of an app may have any name but
 * these. */
static bool
is_system_name(const char *name)
{
    static const char *const names[] = {"AppKit",
                                        "AudioToolbox",
                                        "AVFAudio",
                                        "AVFoundation",
                                        "CFNetwork",
                                        "Combine",
                                        "CoreAutoLayout",
                                        "CoreData",
                                        "CoreFoundation",
                                        "CoreGraphics",
                                        "CoreImage",
                                        "CoreLocation",
                                        "CoreMedia",
                                        "CoreMotion",
                                        "CoreText",
                                        "CoreVideo",
                                        "FrontBoardServices",
                                        "Foundation",
                                        "Gestures",
                                        "GraphicsServices",
                                        "HIToolbox",
                                        "ImageIO",
                                        "IOKit",
                                        "JavaScriptCore",
                                        "MapKit",
                                        "Metal",
                                        "Network",
                                        "QuartzCore",
                                        "RunningBoardServices",
                                        "Security",
                                        "SwiftData",
                                        "SwiftUI",
                                        "SwiftUICore",
                                        "UIFoundation",
                                        "UIKit",
                                        "UIKitCore",
                                        "UpdateCycle",
                                        "WatchKit",
                                        "WebCore",
                                        "WebKit",
                                        "WebKitLegacy",
                                        "dyld",
                                        "dyld_sim",
                                        "kernel",
                                        "???"};
    static const char *const libraries[] = {"libsystem", "libobjc", "libdispatch", "libdyld",
                                            "libswift",  "libc++",  "libxpc",      "libSystem"};
    if (fz_text_has_prefix(name, "com.apple."))
        return true;
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    for (size_t i = 0; i < FZ_ARRAY_LEN(libraries); i++) {
        if (fz_text_has_prefix(name, libraries[i]))
            return true;
    }
    return false;
}

/* Xcode's builds for debugging have their code in "Shop.debug.dylib". */
static bool
is_named(const char *image, const char *name)
{
    size_t len = name ? strlen(name) : 0;
    return len && strncmp(image, name, len) == 0 &&
           (image[len] == '\0' || strcmp(image + len, ".debug.dylib") == 0);
}

static bool
is_apps_name(const struct report *report, const char *image)
{
    return image && (is_named(image, report->process.name) || is_named(image, report->app_name));
}

bool
resolve_in_app_image(const struct report *report, size_t number)
{
    const struct report_image *image = &report->images[number];
    const char *path = image->path, *process = report->process.path;
    /* A path says more than a name: a framework of an app may be named as one of the system's. */
    if (path) {
        return !is_system_path(path) &&
               (number == 0 || strstr(path, ".app/") || (process && strcmp(path, process) == 0) ||
                is_apps_name(report, image->name));
    }
    /* Before the list: an app may be named "Network" or "Metal". */
    if (is_apps_name(report, image->name))
        return true;
    if (image->name && is_system_name(image->name))
        return false;
    /* Nothing names the app, so all that is not the system's counts as its code. */
    if (!report->process.name && !report->app_name)
        return number == 0 || image->name;
    return number == 0;
}
