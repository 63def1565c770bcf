/*
 * Whose code it is: that of the app, of somebody whose source the app includes, or of the system.
 *
 * The image decides first. Static linking puts the code of others into the app's own image; there
 * the file that DWARF names distinguishes them, and the module of a Swift name.
 */
#include "server/group/own.h"

#include <string.h>

#include "base/text.h"
#include "server/report/report.h"

/* ---- by the image ---- */

static bool
contains_any(const char *text, const char *const *parts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strstr(text, parts[i]))
            return true;
    }
    return false;
}

static bool
is_system_path(const char *path)
{
    /* Simulator runtimes and XCTest are inside Xcode.app, so these are looked for anywhere. */
    static const char *const folders[] = {
        "/System/Library/",         "/usr/lib/",           "/RuntimeRoot/", "/Cryptexes/",
        ".app/Contents/Developer/", "/Frameworks/libswift"};
    return fz_text_has_prefix(path, "/System/") ||
           fz_text_has_prefix(path, "/Library/Developer/") ||
           contains_any(path, folders, FZ_ARRAY_LEN(folders));
}

/* clang-format off */
/* Images of the system that stacks show most often. A framework of an app may have any name but
 * these. */
static const char *const system_names[] = {
    "AVFAudio", "AVFoundation", "AVKit", "AXRuntime", "Accelerate", "Accounts", "ActivityKit",
    "AppIntents", "AppKit", "AppleMediaServices", "ARKit", "AttributeGraph", "AudioToolbox",
    "AuthenticationServices", "BackBoardServices", "BackgroundTasks", "BaseBoard", "CFNetwork",
    "CallKit", "CloudKit", "Combine", "Contacts", "ContactsUI", "CoreAnimation",
    "CoreAutoLayout", "CoreBluetooth", "CoreData", "CoreFoundation", "CoreGraphics", "CoreImage",
    "CoreLocation", "CoreMedia", "CoreML", "CoreMotion", "CoreServices", "CoreSpotlight",
    "CoreTelephony", "CoreText", "CoreVideo", "EventKit", "FileProvider", "Foundation",
    "FrontBoardServices", "GameController", "GameKit", "Gestures", "GraphicsServices",
    "HIToolbox", "HealthKit", "IOKit", "IOSurface", "ImageIO", "JavaScriptCore",
    "LocalAuthentication", "MapKit", "MediaPlayer", "MessageUI", "Metal", "MetalKit",
    "MetalPerformanceShaders", "MobileCoreServices", "Network", "NetworkExtension",
    "ObservationKit", "PDFKit", "PassKit", "Photos", "PhotosUI", "PlugInKit", "QuartzCore",
    "QuickLook", "RealityKit", "RenderBox", "ReplayKit", "RunningBoardServices",
    "SafariServices", "SceneKit", "ScreenTime", "Security", "ShareSheet", "SkyLight", "Speech",
    "SpriteKit", "StoreKit", "SwiftData", "SwiftUI", "SwiftUICore", "SystemConfiguration",
    "TextInput", "TextInputUI", "TrueDepth", "UIFoundation", "UIKit", "UIKitCore", "UpdateCycle",
    "UserNotifications", "UserNotificationsUI", "VectorKit", "Vision", "VisionKit",
    "WatchConnectivity", "WatchKit", "WebCore", "WebKit", "WebKitLegacy", "WidgetKit", "XCTest",
    "dyld", "dyld_sim", "kernel"};
/* clang-format on */

static bool
is_system_name(const char *name)
{
    static const char *const libraries[] = {"libsystem", "libobjc",    "libdispatch", "libdyld",
                                            "libswift",  "libc++",     "libxpc",      "libSystem",
                                            "???",       "_CoreData_", "_SwiftData_"};
    if (fz_text_has_prefix(name, "com.apple."))
        return true;
    for (size_t i = 0; i < FZ_ARRAY_LEN(system_names); i++) {
        if (strcmp(name, system_names[i]) == 0)
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

/* The system's libraries are never uploaded with their DWARF. */
static bool
has_dsym(const struct report_image *image)
{
    for (size_t i = 0; i < image->n_files; i++) {
        if (image->files[i].kind && strcmp(image->files[i].kind, "dsym") == 0)
            return true;
    }
    return false;
}

static enum group_origin
origin_of_path(const struct report *report, size_t number)
{
    const struct report_image *image = &report->images[number];
    const char *path = image->path, *process = report->process.path;
    if (is_system_path(path))
        return GROUP_ORIGIN_SYSTEM;
    if (number == 0 || (process && strcmp(path, process) == 0) || is_apps_name(report, image->name))
        return GROUP_ORIGIN_EXECUTABLE;
    if (strstr(path, ".app/") || strstr(path, ".appex/") || strstr(path, ".xpc/"))
        return GROUP_ORIGIN_BUNDLE;
    return GROUP_ORIGIN_OTHER;
}

enum group_origin
group_image_origin(const struct report *report, size_t number)
{
    const struct report_image *image = &report->images[number];
    /* A path says more than a name: a framework of an app may be named as one of the system's. */
    if (image->path)
        return origin_of_path(report, number);
    /* Before the list: an app may be named "Network" or "Metal". */
    if (is_apps_name(report, image->name))
        return GROUP_ORIGIN_EXECUTABLE;
    if (image->name && is_system_name(image->name))
        return GROUP_ORIGIN_SYSTEM;
    if (has_dsym(image))
        return GROUP_ORIGIN_NAMED;
    /* Nothing names the app, so all that is not the system's counts as its code. */
    bool is_all = !report->process.name && !report->app_name && image->name;
    return number == 0 || is_all ? GROUP_ORIGIN_NAMED : GROUP_ORIGIN_OTHER;
}

/* Names of the system's functions come without files. */
static void
mark_with_files(const struct report *report, const struct report_frame *frames, size_t n,
                enum group_origin *origins)
{
    for (size_t i = 0; i < n; i++) {
        int number = frames[i].image;
        if (number < 0 || (size_t)number >= report->n_images || report->images[number].path ||
            origins[number] != GROUP_ORIGIN_OTHER)
            continue;
        for (size_t k = 0; k < frames[i].n_symbols; k++) {
            if (frames[i].symbols[k].file && frames[i].symbols[k].line)
                origins[number] = GROUP_ORIGIN_NAMED;
        }
    }
}

enum group_origin *
group_find_origins(const struct report *report, struct fz_arena *arena)
{
    enum group_origin *origins = fz_arena_array(arena, report->n_images, sizeof(*origins));
    if (!origins)
        return NULL;
    for (size_t i = 0; i < report->n_images; i++)
        origins[i] = group_image_origin(report, i);
    for (size_t i = 0; i < report->n_threads; i++)
        mark_with_files(report, report->threads[i].frames, report->threads[i].n_frames, origins);
    mark_with_files(report, report->exception_frames, report->n_exception_frames, origins);
    return origins;
}

bool
group_origin_is_own(enum group_origin origin)
{
    return origin == GROUP_ORIGIN_EXECUTABLE || origin == GROUP_ORIGIN_BUNDLE ||
           origin == GROUP_ORIGIN_NAMED;
}

const char *
group_origin_rule(enum group_origin origin)
{
    static const char *const names[GROUP_ORIGINS] = {[GROUP_ORIGIN_OTHER] = "other image",
                                                     [GROUP_ORIGIN_EXECUTABLE] = "executable",
                                                     [GROUP_ORIGIN_BUNDLE] = "app bundle",
                                                     [GROUP_ORIGIN_NAMED] = "app by name",
                                                     [GROUP_ORIGIN_SYSTEM] = "system image"};
    return names[origin];
}

/* ---- by the source file ---- */

const char *
group_file_rule(const char *file)
{
    static const char *const vendored[] = {"/SourcePackages/checkouts/", "/.build/checkouts/",
                                           "/Pods/", "/Carthage/Checkouts/"};
    /* Headers of the SDK and of the toolchain: templates and inline functions. */
    static const char *const system[] = {
        ".sdk/usr/",       ".sdk/System/", "/usr/include/c++/", ".xctoolchain/usr/",
        "/usr/lib/swift/", "/lib/clang/",  "/Toolchains/"};
    if (!file)
        return NULL;
    if (contains_any(file, vendored, FZ_ARRAY_LEN(vendored)))
        return "vendored source";
    /* Paths relative to the project. */
    if (fz_text_has_prefix(file, "Pods/") || fz_text_has_prefix(file, "Carthage/Checkouts/") ||
        fz_text_has_prefix(file, ".build/checkouts/") ||
        fz_text_has_prefix(file, "SourcePackages/checkouts/"))
        return "vendored source";
    return contains_any(file, system, FZ_ARRAY_LEN(system)) ? "SDK source" : NULL;
}

/* ---- by the Swift module ---- */

/* Modules of the system whose generic code the compiler copies into the app's image. */
bool
group_module_is_system(const char *module)
{
    static const char *const names[] = {"Swift",
                                        "SwiftUI",
                                        "SwiftUICore",
                                        "SwiftData",
                                        "Combine",
                                        "Foundation",
                                        "UIKit",
                                        "AppKit",
                                        "Dispatch",
                                        "Observation",
                                        "os",
                                        "OSLog",
                                        "ObjectiveC",
                                        "CoreFoundation",
                                        "Darwin",
                                        "Synchronization",
                                        "System",
                                        "RegexBuilder",
                                        "CoreData",
                                        "CoreGraphics",
                                        "Network",
                                        "XCTest",
                                        "Testing",
                                        "__C",
                                        "CryptoKit",
                                        "FoundationEssentials",
                                        "FoundationInternationalization",
                                        "WidgetKit",
                                        "ActivityKit",
                                        "AppIntents",
                                        "StoreKit",
                                        "MapKit",
                                        "RealityKit",
                                        "TipKit"};
    /* _Concurrency, _StringProcessing, _SwiftUI... */
    if (module[0] == '_' && module[1] >= 'A' && module[1] <= 'Z')
        return true;
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        if (strcmp(module, names[i]) == 0)
            return true;
    }
    return false;
}

/* "$s4Shop3runyyF", with or without the underscores of Mach-O; every mangling since Swift 4.0. */
struct fz_span
group_module_of(const char *mangled)
{
    static const char *const prefixes[] = {"$s", "$S", "$e", "_T0"};
    struct fz_span none = {NULL, 0};
    const char *at = NULL;
    for (size_t skip = 0; mangled && !at && skip < 2 && mangled[skip]; skip++) {
        for (size_t i = 0; i < FZ_ARRAY_LEN(prefixes) && !at; i++) {
            if (fz_text_has_prefix(mangled + skip, prefixes[i]))
                at = mangled + skip + strlen(prefixes[i]);
        }
        if (mangled[skip] != '_')
            break;
    }
    if (!at)
        return none;
    size_t len = 0, digits = 0;
    while (at[digits] >= '0' && at[digits] <= '9' && digits < 4)
        len = len * 10 + (size_t)(at[digits++] - '0');
    if (digits == 0) /* "s": the standard library, "S.": a type of it */
        return *at == 's' || *at == 'S' ? fz_span_cstr("Swift") : none;
    /* "0" starts an identifier with substituted words, which modules do not have. */
    return at[0] == '0' || strlen(at + digits) < len ? none : fz_span_make(at + digits, len);
}
