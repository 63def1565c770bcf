#include "base/lazy.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

FZ_NORETURN void
fz_lazy_unloaded(void)
{
    fputs("framezero: a function of a library that was not loaded (base/lazy.h)\n", stderr);
    abort();
}

static enum fz_code
load(const struct fz_lazy *lazy, struct fz_error *err)
{
    void *library = dlopen(lazy->library, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return fz_fail(err, FZ_E_INTERNAL, "cannot load a library: %s", dlerror());
    /* The first one is set last: it tells that all are. */
    for (size_t i = lazy->n; i-- > 0;) {
        void *found = dlsym(library, lazy->names[i]);
        if (!found)
            return fz_fail(err, FZ_E_INTERNAL, "%s has no %s: another version is needed",
                           lazy->library, lazy->names[i]);
        memcpy(&lazy->functions[i], &found, sizeof(found)); /* no cast is defined for it */
    }
    return FZ_OK;
}

enum fz_code
fz_lazy_load(const struct fz_lazy *lazy, struct fz_error *err)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    bool is_loaded = lazy->n == 0 || lazy->functions[0] != fz_lazy_unloaded;
    enum fz_code code = is_loaded ? FZ_OK : load(lazy, err);
    pthread_mutex_unlock(&mutex);
    return code;
}
