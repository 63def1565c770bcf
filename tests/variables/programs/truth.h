/* With -DTRUTH a program prints its own variables: "T function path = value". Without, it only runs, so that what is
 * read from the crash was not kept alive by being printed. */
int printf(const char *format, ...);
#ifdef TRUTH
#define T(function, path, format, ...) printf("T %s %s = " format "\n", function, path, __VA_ARGS__)
#else
#define T(function, path, format, ...) \
    do {                               \
    } while (0)
#endif
/* What the optimiser must not look into. */
#define NOINLINE __attribute__((noinline))
#define OPAQUE(x) __asm__ volatile("" : "+r"(x))
#define ESCAPE(p) __asm__ volatile("" : : "r"(p) : "memory")
