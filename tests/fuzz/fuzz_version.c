/* Any texts as versions: their keys are in the limit and compare as the versions do, and the order is one. A zero ends a text. */
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/version.h"

enum { TEXTS = 3, CAP = 4096 };

static int
sign(int order)
{
    return (order > 0) - (order < 0);
}

static void
check_pair(const char *a, const char *b)
{
    uint8_t key_a[FZ_VERSION_KEY_MAX], key_b[FZ_VERSION_KEY_MAX];
    size_t len_a = fz_version_key(a, b, key_a), len_b = fz_version_key(b, a, key_b);
    int order = sign(memcmp(key_a, key_b, len_a < len_b ? len_a : len_b));
    order = order ? order : (len_a > len_b) - (len_a < len_b);
    if (len_a > FZ_VERSION_KEY_MAX || len_b > FZ_VERSION_KEY_MAX ||
        order != fz_version_compare(a, b, b, a) || order != -fz_version_compare(b, a, a, b))
        abort();
    struct fz_version_fix fix = {.version = a, .newest = b};
    if (fz_version_is_regression(&fix, b, NULL) && fz_version_compare(b, NULL, a, NULL) < 0)
        abort();
    /* All builds of a version are in its range, which ends after it. */
    size_t start = fz_version_key(a, NULL, key_b);
    if (len_a < start || memcmp(key_a, key_b, start) != 0)
        abort();
    size_t end = fz_version_key_end(key_b, start);
    if (end > start || memcmp(key_a, key_b, len_a < end ? len_a : end) >= 0)
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char texts[TEXTS][CAP];
    size_t at = 0;
    for (size_t i = 0; i < TEXTS; i++) {
        size_t n = 0;
        while (at < size && data[at] && n + 1 < CAP)
            texts[i][n++] = (char)data[at++];
        at++;
        texts[i][n] = '\0';
    }
    for (size_t i = 0; i < TEXTS; i++) {
        for (size_t k = 0; k < TEXTS; k++)
            check_pair(texts[i], texts[k]);
    }
    /* Two steps up are one step up. */
    int first = fz_version_compare(texts[0], NULL, texts[1], NULL);
    int second = fz_version_compare(texts[1], NULL, texts[2], NULL);
    if (first <= 0 && second <= 0 && fz_version_compare(texts[0], NULL, texts[2], NULL) > 0)
        abort();
    return 0;
}
