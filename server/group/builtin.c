/*
 * The rule set apple-1: frames that carry no information about a bug, by what they do.
 *
 * A pattern ends in * or is the whole name. Patterns count outside the app's own image, where only
 * the system's functions have such names; rows marked ANYWHERE count in it, too: what is linked in
 * statically or put in place of the system's functions. A change that moves reports to other issues
 * makes this apple-2: VERSION in rules.c.
 */
#include <string.h>

#include "base/text.h"
#include "server/group/own.h"
#include "server/group/parts.h"

enum { ANYWHERE = 1 };

struct builtin {
    const char *pattern;
    int anywhere;
};

/* clang-format off */
static const struct builtin raising[] = {
    {"__exceptionPreprocess", ANYWHERE}, {"objc_exception_throw", ANYWHERE},
    {"objc_exception_rethrow", ANYWHERE}, {"_objc_terminate*", 0}, {"_objc_fatal*", 0},
    {"_objc_trap*", 0}, {"__objc_error*", 0}, {"objc_opt_*", 0}, {"objc_terminate", 0},
    {"_CFThrowFormattedException", 0}, {"_CFThrow*", 0},
    {"+[NSException raise:format:]", 0}, {"+[NSException raise:format:arguments:]", 0},
    {"+[NSException exceptionWithName:reason:userInfo:]", 0}, {"-[NSException raise]", 0},
    {"-[NSException initWithName:reason:userInfo:]", 0},
    {"-[NSObject(NSObject) doesNotRecognizeSelector:]", 0},
    {"-[NSObject doesNotRecognizeSelector:]", 0}, {"+[NSObject doesNotRecognizeSelector:]", 0},
    {"+[NSObject(NSObject) doesNotRecognizeSelector:]", 0},
    {"-[NSObject(NSObject) __raise*", 0}, {"-[NSObject(NSUndefinedKey*", 0},
    {"___forwarding___*", ANYWHERE}, {"_CF_forwarding_prep_*", ANYWHERE}, {"__forwarding_prep_*", ANYWHERE},
    {"-[NSAssertionHandler handleFailureIn*", 0},
    {"__cxa_throw", ANYWHERE}, {"__cxa_rethrow", ANYWHERE}, {"__cxa_call_unexpected", ANYWHERE},
    {"__cxa_bad_cast", ANYWHERE}, {"__cxa_call_terminate", ANYWHERE}, {"__cxa_pure_virtual", ANYWHERE},
    {"__clang_call_terminate", ANYWHERE}, {"_Unwind_*", 0}, {"failed_throw*", 0},
    {"__cxxabiv1::*", 0}, {"demangling_terminate_handler*", 0}, {"default_terminate_handler*", 0}, {"default_unexpected_handler*", 0},
    {"std::terminate", ANYWHERE}, {"std::__terminate", ANYWHERE}, {"std::unexpected", ANYWHERE},
    {"std::rethrow_exception", ANYWHERE}, {"std::__throw_*", ANYWHERE}, {"std::__1::__throw_*", ANYWHERE},
    {"std::__1::__libcpp_verbose_abort", ANYWHERE}, {"abort_message", 0},
    {"abort", ANYWHERE}, {"__abort", 0}, {"raise", ANYWHERE}, {"pthread_kill", ANYWHERE},
    {"__pthread_kill", ANYWHERE}, {"kill", 0}, {"__kill", 0}, {"exit", 0}, {"_exit", 0}, {"__exit", 0},
    {"abort_with_payload*", 0}, {"abort_with_reason*", 0}, {"__abort_with_payload", 0},
    {"terminate_with_*", 0}, {"__terminate_with_payload", 0}, {"os_crash*", 0}, {"_os_crash*", 0},
    {"_os_assert_log*", 0}, {"_os_assumes_log*", 0}, {"__assert_rtn", ANYWHERE}, {"__eprintf", ANYWHERE},
    {"__builtin_trap", ANYWHERE}, {"__stack_chk_fail", ANYWHERE}, {"__chk_fail*", 0},
    {"_sigtramp", 0}, {"_sigtramp*", 0},
    {"_assertionFailure*", ANYWHERE}, {"Swift._assertionFailure*", ANYWHERE}, {"assertionFailure*", 0},
    {"_fatalErrorMessage*", ANYWHERE}, {"Swift._fatalErrorMessage*", ANYWHERE},
    {"fatalError*", 0}, {"Swift.fatalError*", ANYWHERE}, {"preconditionFailure*", 0},
    {"Swift.preconditionFailure*", ANYWHERE}, {"precondition(*", 0}, {"assert(*", 0},
    {"_precondition*", 0}, {"_preconditionFailure*", 0}, {"_diagnoseUnexpected*", 0},
    {"_diagnoseUnexpectedNilOptional*", ANYWHERE}, {"_swift_stdlib_report*", 0},
    {"swift_unexpectedError*", ANYWHERE}, {"swift_errorInMain*", 0}, {"_swift_runtime_on_report", 0},
    {"swift_dynamicCastFailure*", 0}, {"swift::swift_dynamicCastFailure*", 0}, {"swift::fatalError*", 0},
    {"swift::warning*", 0}, {"swift_deletedMethodError*", 0}, {"swift_reportError*", 0},
};
static const struct builtin memory[] = {
    {"objc_*", 0}, {"_objc_*", 0}, {"object_*", 0}, {"class_*", 0}, {"_class_*", 0},
    {"objc_msgSend*", ANYWHERE}, {"_objc_msgSend*", 0}, {"objc_retain*", 0}, {"objc_release*", 0},
    {"_objc_release*", 0}, {"objc_store*", 0}, {"objc_autorelease*", 0}, {"_objc_rootRelease*", 0},
    {"_objc_rootRetain*", 0}, {"objc_destroyWeak*", 0}, {"objc_loadWeak*", 0}, {"objc_initWeak*", 0},
    {"objc_object::*", 0}, {"objc_destructInstance*", 0}, {"object_cxxDestruct*", 0},
    {"_object_dispose*", 0}, {"object_dispose*", 0}, {"weak_*", 0}, {"AutoreleasePoolPage::*", 0},
    {"_objc_autoreleasePool*", 0}, {"lookUpImpOrForward*", 0}, {"cache_getImp*", 0},
    {"swift_retain*", 0}, {"swift_release*", 0}, {"_swift_release_dealloc*", 0}, {"_swift_retain*", 0},
    {"swift_bridgeObject*", 0}, {"swift_unknownObject*", 0}, {"swift_weak*", 0}, {"swift_unowned*", 0},
    {"swift_alloc*", 0}, {"swift_dealloc*", 0}, {"swift_slowAlloc*", 0}, {"swift_slowDealloc*", 0},
    {"swift_arrayDestroy*", 0}, {"swift_arrayInit*", 0}, {"swift::RefCounts*", 0}, {"swift_beginAccess*", 0},
    {"malloc*", 0}, {"_malloc*", 0}, {"__malloc*", 0}, {"calloc*", 0}, {"realloc*", 0}, {"free", ANYWHERE},
    {"free_*", 0}, {"_free*", 0}, {"tiny_*", 0}, {"small_*", 0}, {"large_*", 0}, {"szone_*", 0},
    {"nano_*", 0}, {"nanov2_*", 0}, {"nanozone_*", 0}, {"_nano_*", 0}, {"xzm_*", 0}, {"_xzm_*", 0},
    {"mfm_*", 0}, {"default_zone_*", 0}, {"operator new*", 0}, {"operator delete*", 0},
    {"memcpy*", ANYWHERE}, {"memmove*", ANYWHERE}, {"memset*", ANYWHERE}, {"memcmp*", ANYWHERE},
    {"memchr*", 0}, {"bzero*", 0}, {"bcopy*", 0}, {"__bzero*", 0}, {"__memcpy*", 0}, {"__memmove*", 0},
    {"__memset*", 0}, {"_platform_*", 0}, {"str*cpy*", 0}, {"strlen*", 0}, {"strcmp*", 0},
    {"strncmp*", 0}, {"strcpy*", 0}, {"strncpy*", 0}, {"strlcpy*", 0}, {"strcat*", 0}, {"strdup*", 0},
    {"strchr*", 0}, {"__strcpy_chk*", 0}, {"__strlcpy_chk*", 0},
    {"_CFRelease", 0}, {"CFRelease", 0}, {"CFRetain", 0}, {"_CFRetain", 0}, {"_Block_release*", 0},
    {"_Block_copy*", 0}, {"_Block_object_*", 0}, {"__destroy_helper_block*", ANYWHERE},
    {"__copy_helper_block*", ANYWHERE},
};
static const struct builtin waiting[] = {
    {"mach_msg*", 0}, {"_mach_msg*", 0}, {"__ulock_wait*", 0}, {"__psynch_*", 0}, {"semaphore_*", 0},
    {"pthread_mutex_*", 0}, {"_pthread_mutex_*", 0}, {"pthread_cond_*", 0}, {"_pthread_cond_*", 0},
    {"pthread_rwlock_*", 0}, {"_pthread_rwlock_*", 0}, {"pthread_join*", 0}, {"_pthread_join*", 0},
    {"_os_unfair_lock_*", 0}, {"os_unfair_lock_*", 0}, {"dispatch_sync*", 0}, {"dispatch_group_wait*", 0},
    {"dispatch_semaphore_wait*", 0}, {"_dispatch_semaphore_wait*", 0}, {"_dispatch_sync_*", 0},
    {"_dispatch_sema4_*", 0}, {"_dispatch_thread_event_wait*", 0}, {"__DISPATCH_WAIT_FOR_QUEUE__*", 0},
    {"dispatch_barrier_sync*", 0}, {"_dispatch_barrier_sync*", 0}, {"__workq_kernreturn", 0},
    {"kevent*", 0}, {"__semwait_signal*", 0}, {"nanosleep*", 0}, {"usleep*", 0}, {"sleep", 0},
    {"__select*", 0}, {"select", 0}, {"poll", 0}, {"__read*", 0}, {"read", 0}, {"__sigsuspend*", 0},
    {"swift_task_switch*", 0}, {"std::__1::mutex::*", 0}, {"std::__1::condition_variable::*", 0},
};
static const struct builtin bases[] = {
    {"start", ANYWHERE}, {"_dyld_start", 0}, {"dyld4::*", 0}, {"main", ANYWHERE}, {"__main", 0},
    {"UIApplicationMain", 0}, {"NSApplicationMain", 0}, {"WKExtensionMain", 0}, {"NSExtensionMain*", 0},
    {"EXExtensionMain*", 0}, {"xpc_main", 0}, {"_xpc_*main*", 0}, {"CFRunLoopRun*", 0},
    {"__CFRunLoop*", 0}, {"__CFRUNLOOP_*", 0}, {"_CFRunLoop*", 0}, {"-[NSRunLoop(NSRunLoop) run*", 0},
    {"-[UIApplication _run]", 0}, {"-[NSApplication run]", 0}, {"_dispatch_*", 0}, {"_pthread_*", 0},
    {"pthread_start*", 0}, {"thread_start", 0}, {"start_wqthread", 0}, {"GSEventRun*", 0},
    {"__NSThread__start__", 0}, {"-[NSThread main]", 0}, {"__NSThreadPerformPerform", 0},
    {"std::__1::__thread_proxy*", ANYWHERE}, {"std::__thread_proxy*", ANYWHERE},
    {"swift_job_run*", 0}, {"swift::runJob*", 0}, {"completeTaskWithClosure*", 0},
    {"completeTask*", 0}, {"swift::AsyncTask::*", 0},
};
static const struct builtin reporters[] = {
    {"KSCrash*", ANYWHERE}, {"kscrash*", ANYWHERE}, {"kscm_*", ANYWHERE}, {"ksmc_*", ANYWHERE},
    {"ksct_*", ANYWHERE}, {"-[KSCrash*", ANYWHERE}, {"+[KSCrash*", ANYWHERE},
    {"sentrycrash*", ANYWHERE}, {"sentry_*", ANYWHERE}, {"-[Sentry*", ANYWHERE}, {"+[Sentry*", ANYWHERE},
    {"PLCrash*", ANYWHERE}, {"plcrash_*", ANYWHERE}, {"-[PLCrash*", ANYWHERE}, {"bsg_*", ANYWHERE},
    {"bsg_ks*", ANYWHERE}, {"-[Bugsnag*", ANYWHERE}, {"+[Bugsnag*", ANYWHERE}, {"FIRCLS*", ANYWHERE},
    {"-[FIRCLS*", ANYWHERE}, {"framezero_*", ANYWHERE}, {"-[BITCrash*", ANYWHERE},
    {"-[MSCrash*", ANYWHERE}, {"-[MSAC*", ANYWHERE}, {"-[BGSCrash*", ANYWHERE}, {"crashpad::*", ANYWHERE},
    {"google_breakpad::*", ANYWHERE},
};
static const struct builtin failures[] = {
    {"Swift runtime failure: *", ANYWHERE},
};
/* clang-format on */

static const struct {
    struct group_skip skip;
    const struct builtin *list;
    size_t n;
} tables[] = {
    /* In this order: _dispatch_semaphore_wait_slow waits, _dispatch_client_callout is a base. */
    {{"raising", false}, raising, FZ_ARRAY_LEN(raising)},
    {{"memory", false}, memory, FZ_ARRAY_LEN(memory)},
    {{"waiting", false}, waiting, FZ_ARRAY_LEN(waiting)},
    {{"thread base", true}, bases, FZ_ARRAY_LEN(bases)},
    {{"crash reporter", false}, reporters, FZ_ARRAY_LEN(reporters)},
    {{"Swift runtime failure", false}, failures, FZ_ARRAY_LEN(failures)},
};

static bool
fits(const char *pattern, const char *name)
{
    size_t i = 0;
    while (pattern[i] && pattern[i] == name[i])
        i++;
    if (pattern[i] == '\0' && name[i] == '\0')
        return true;
    /* Nearly every pattern is a prefix; one with more stars needs the general comparison. */
    return pattern[i] == '*' && (pattern[i + 1] == '\0' || group_matches(pattern + i, name + i));
}

/* "ShopApp.$main()", "static ShopApp.$main()": what @main makes of an app's type. */
static bool
is_swift_main(const char *name)
{
    return fz_text_has_suffix(name, ".$main()") || fz_text_has_suffix(name, ".$main") ||
           fz_text_has_suffix(name, "_main()") || strcmp(name, "$main()") == 0;
}

/* Libraries whose functions only carry out what others want: without a name, nothing of them says
 * more. */
static bool
is_low_level(const struct group_image *image)
{
    static const char *const names[] = {"libobjc.A.dylib",
                                        "libsystem_c.dylib",
                                        "libsystem_kernel.dylib",
                                        "libsystem_malloc.dylib",
                                        "libsystem_platform.dylib",
                                        "libsystem_pthread.dylib",
                                        "libdispatch.dylib",
                                        "libc++abi.dylib",
                                        "libc++.1.dylib",
                                        "libsystem_blocks.dylib",
                                        "libdyld.dylib",
                                        "dyld",
                                        "libswiftCore.dylib",
                                        "libswift_Concurrency.dylib",
                                        "libunwind.dylib",
                                        "libsystem_sim_kernel.dylib",
                                        "libsystem_sim_pthread.dylib",
                                        "dyld_sim"};
    if (image->origin != GROUP_ORIGIN_SYSTEM || !image->name)
        return false;
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        if (strcmp(image->name, names[i]) == 0)
            return true;
    }
    return false;
}

/* Frameworks that are crash reporters, and call what they have replaced. */
static bool
is_reporter(const struct group_image *image)
{
    static const char *const names[] = {"KSCrash",       "KSCrashRecording",
                                        "Sentry",        "SentryPrivate",
                                        "CrashReporter", "PLCrashReporter",
                                        "Bugsnag",       "FirebaseCrashlytics",
                                        "Crashlytics",   "AppCenterCrashes",
                                        "HockeySDK",     "Raygun4Apple",
                                        "InstabugSDK",   "PLCrashReporter_DynamicFramework"};
    if (!image->name || image->origin == GROUP_ORIGIN_SYSTEM ||
        image->origin == GROUP_ORIGIN_EXECUTABLE)
        return false;
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        if (strcmp(image->name, names[i]) == 0)
            return true;
    }
    return false;
}

static bool
is_in_own_image(const struct group_stack *stack, const struct group_frame *frame)
{
    return frame->image >= 0 && group_origin_is_own(stack->images[frame->image].origin);
}

const struct group_skip *
group_builtin_skip(const struct group_stack *stack, const struct group_frame *frame)
{
    static const struct group_skip artificial = {"compiler-made", false};
    static const struct group_skip low_level = {"runtime library", false};
    static const struct group_skip reporter = {"crash reporter", false};
    bool own = is_in_own_image(stack, frame);
    if (frame->image >= 0 && is_reporter(&stack->images[frame->image]))
        return &reporter;
    if (!frame->name) {
        bool is_low = frame->image >= 0 && is_low_level(&stack->images[frame->image]);
        return is_low ? &low_level : NULL;
    }
    for (size_t t = 0; t < FZ_ARRAY_LEN(tables); t++) {
        for (size_t i = 0; i < tables[t].n; i++) {
            const struct builtin *row = &tables[t].list[i];
            if ((!own || row->anywhere) && row->pattern[0] == frame->name[0] &&
                fits(row->pattern, frame->name))
                return &tables[t].skip;
        }
    }
    for (size_t t = 0; t < FZ_ARRAY_LEN(tables); t++) {
        if (tables[t].skip.is_base && is_swift_main(frame->name))
            return &tables[t].skip;
    }
    return frame->is_artificial ? &artificial : NULL;
}
