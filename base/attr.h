/*
 * The compiler attributes and the three macros that the whole code base uses.
 *
 * Every other macro is a constant in disguise and belongs into an enum; see docs/CONTRIBUTING.md.
 */
#ifndef FZ_ATTR_H
#define FZ_ATTR_H

#define FZ_MUST_CHECK __attribute__((warn_unused_result))
#define FZ_PRINTF(fmt_index, first_arg) __attribute__((format(printf, fmt_index, first_arg)))
#define FZ_CLEANUP(fn) __attribute__((cleanup(fn)))
#define FZ_UNUSED __attribute__((unused))
#define FZ_NORETURN __attribute__((noreturn))
#define FZ_INLINE inline __attribute__((always_inline))
#define FZ_NOINLINE __attribute__((noinline))

/* Is the build watched by a sanitizer or by valgrind? Their memory maps know no limit. */
#if defined(FZ_VALGRIND) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { FZ_IS_WATCHED = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || \
    __has_feature(thread_sanitizer)
enum { FZ_IS_WATCHED = 1 };
#else
enum { FZ_IS_WATCHED = 0 };
#endif
#else
enum { FZ_IS_WATCHED = 0 };
#endif

#define FZ_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Hand a pointer over: evaluates to *pp and leaves NULL, so that FZ_CLEANUP finds nothing to
 * do. */
#define fz_take(pp)                          \
    __extension__({                          \
        __typeof__(*(pp)) fz_taken_ = *(pp); \
        *(pp) = NULL;                        \
        fz_taken_;                           \
    })

/* Drop a result on purpose; the comment after it says why. */
#define fz_ignore(expr) \
    do {                \
        if (expr) {     \
        }               \
    } while (0)

#endif
