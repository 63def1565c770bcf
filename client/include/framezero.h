/*
 * Crash capture for apps on Apple's systems: registers, stacks and memory of a crashed process as a report for a
 * framezero server, which unwinds the stack and reads the values of parameters and variables from it.
 *
 * In the app: framezero_install() once, early, on the main thread; later framezero_pending_next() and the app's own
 * HTTP code. In a CrashReporterExtension (OS 27): framezero_capture_corpse(). Both may be used together; the reports of
 * one crash carry the same run id. After installation nothing here allocates memory or takes a lock. Nothing is sent.
 * docs/client.md is a walkthrough; docs/formats.md has the native report, the format of the files.
 */
#ifndef FRAMEZERO_H
#define FRAMEZERO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRAMEZERO_CLIENT_VERSION "0.1.0"

/* What leaves the process. Whatever is not allowed is not written to the file either. */
enum framezero_privacy {
    FRAMEZERO_ADDRESSES = 0, /* return addresses, and the registers pc, lr, sp and fp */
    FRAMEZERO_STACK = 1,     /* registers and stacks, texts of exceptions */
    FRAMEZERO_VALUES = 2,    /* also memory that they point to, and the program's variables */
};

/* What is watched; added together. */
enum framezero_ways {
    FRAMEZERO_SIGNALS = 1,    /* faults and abort() as signals */
    FRAMEZERO_MACH = 2,       /* faults as Mach exceptions: also stack overflows of any thread */
    FRAMEZERO_EXCEPTIONS = 4, /* name and reason of uncaught Objective-C and C++ exceptions */
    FRAMEZERO_HANGS = 8,      /* the main thread, see framezero_beat() */
    FRAMEZERO_CRASHES = 7,    /* all but hangs */
};

/* Texts are UTF-8 and copied; NULL means not known. Longer ones are cut to the sizes given here. */
struct framezero_options {
    const char *
        folder; /* an existing folder of the app or, with an extension, of its app group; < 700 bytes */
    int privacy;             /* enum framezero_privacy */
    unsigned ways;           /* of enum framezero_ways; 0 stands for FRAMEZERO_CRASHES */
    uint32_t hang_ms;        /* a main thread without a beat for so long hangs; 0 stands for 2000 */
    const char *app_id;      /* 127 bytes; com.acme.shop */
    const char *app_name;    /* 63 bytes */
    const char *app_version; /* 31 bytes */
    const char *app_build;   /* 31 bytes */
    const char *os_name;     /* 15 bytes */
    const char *os_version;  /* 31 bytes */
    const char *os_build;    /* 31 bytes */
    const char *device_model; /* 31 bytes; iPhone15,2 */
    const char *user_id;      /* 127 bytes */
};

/*
 * Watch this process from now on and prepare the file of its report in `folder`.
 *
 * Call it once, on the main thread. Files that a crashed run left half written are removed. Handlers that were
 * installed before are called after the capture; the system's own report is still made. Under a debugger only
 * FRAMEZERO_EXCEPTIONS has an effect on its own: the debugger sees faults first.
 * 0, or an errno: EINVAL no folder or a second call, else what open() of the file says.
 */
int framezero_install(const struct framezero_options *options);

/* The id of this run as 36 characters and a zero; empty before framezero_install(). Borrowed for good. */
const char *framezero_run_id(void);

/* Change what reports of this run contain and which user they concern, at any time and from any thread. */
void framezero_set_privacy(int privacy);
void framezero_set_user(const char *user_id);

/*
 * The main thread is alive. With FRAMEZERO_HANGS, call it about four times a second on the main thread, for example in
 * a timer of its run loop; the first call starts the watch. framezero_pause_beats() stops it until the next beat (the
 * app enters the background). A hang is written once; the app goes on.
 */
void framezero_beat(void);
void framezero_pause_beats(void);

/*
 * Note an exception that is about to end the process: the next report of this run carries it. `addresses` are those of
 * the throw, newest first. For exceptions of languages and frameworks that this library does not know.
 */
void framezero_note_exception(const char *name, const char *reason, const uint64_t *addresses,
                              size_t n_addresses);

/*
 * Read a crashed process and write its report to `folder`: the whole work of a CrashReporterExtension.
 *
 * `corpse` is CrashedProcess.corpsePort, `exception` its reason.exception. What framezero_install() of the crashed app
 * was given is read from the crashed process, its privacy level too; `options` is for apps that never called it, and
 * its level is the most that is read. `options->folder` must be given.
 * 0 if the report is complete, else an errno; calls at the same time wait for one another (EBUSY after 10 s).
 */
int framezero_capture_corpse(unsigned corpse, int exception,
                             const struct framezero_options *options);

enum { FRAMEZERO_PATH_MAX = 1024 };

/*
 * Take the next complete report of `folder` for sending; its new path is written to `path`.
 *
 * 1, or 0 if there is none, or -1 with errno. A report is handed out at most once, over all processes and starts: it
 * is renamed in one step, and one that was taken and not returned is removed by the next framezero_install().
 * framezero_pending_return() puts it back (the request never reached the server), framezero_pending_done() removes
 * it. Not for signal handlers.
 */
int framezero_pending_next(const char *folder, char path[FRAMEZERO_PATH_MAX]);
int framezero_pending_return(const char *path);
int framezero_pending_done(const char *path);

#ifdef __cplusplus
}
#endif

#endif
