/*
 * How small and how fast texts are stored with a dictionary of others of their kind, and without: stored FOLDER
 *
 * The files of the folder are divided into four parts by their names. Each part is packed without a dictionary, and with one that was
 * trained from the other three as a worker does it. Both are measured in turns, three times; the least CPU time counts. One line:
 * files, bytes, packed without, packed with, the mean row of a dictionary, ms without, ms with, ms of a training.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "storage/store_dictionary.h"
#include "storage/store_private.h"

enum { FILES = 300, PARTS = 4, ROUNDS = 3, ALL = 64 * 1024 * 1024 };

struct text {
    struct fz_span bytes;
};

static double
cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void
check(enum fz_code code, const struct fz_error *err)
{
    if (code == FZ_OK)
        return;
    fprintf(stderr, "stored: %s\n", err->text);
    exit(1);
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int
is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static size_t
read_texts(const char *folder, struct fz_buffer *bytes, struct text *ret)
{
    struct dirent **list = NULL;
    int n = scandir(folder, &list, is_visible, by_name);
    size_t n_read = 0;
    for (int i = 0; i < n; i++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", folder, list[i]->d_name);
        FILE *file = n_read < FILES ? fopen(path, "rb") : NULL;
        char *room = file ? fz_buffer_room(bytes, 1024 * 1024) : NULL;
        if (room) {
            size_t len = fread(room, 1, 1024 * 1024, file);
            ret[n_read++].bytes = fz_span_make((uint8_t *)room, len);
            bytes->len += len;
        }
        if (file)
            fclose(file);
        free(list[i]);
    }
    free(list);
    return n_read;
}

/* From all texts but those of one part; NULL: they do not make one. */
static struct store_dictionary *
train(const struct text *texts, size_t n, size_t part, size_t *ret_row)
{
    static uint8_t content[STORE_DICTIONARY_BYTES];
    size_t lens[FILES], n_samples = 0;
    struct fz_error err;
    struct store_dictionary *ret = NULL;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer joined = fz_buffer_make(ALL);
    /* As much as a worker takes. */
    for (size_t i = 0; i < n && joined.len < 8 * 1024 * 1024; i++) {
        if (i % PARTS == part)
            continue;
        fz_buffer_append(&joined, texts[i].bytes.data, texts[i].bytes.len);
        lens[n_samples++] = texts[i].bytes.len;
    }
    check(store_dictionary_share(&joined, lens, n_samples, &err), &err);
    size_t len = store_dictionary_choose(&joined, lens, n_samples, content);
    if (!len)
        return NULL;
    FZ_CLEANUP(store_freep) void *packed = NULL;
    size_t packed_len = 0;
    check(store_dictionary_make(fz_span_make(content, len), &ret, &err), &err);
    check(store_dictionary_pack(fz_span_make(content, len), &packed, &packed_len, &err), &err);
    *ret_row += packed_len;
    return ret;
}

static double
pack(const struct text *texts, size_t n, size_t part, struct store_dictionary *dictionary,
     size_t *ret_bytes)
{
    static struct store_packer *packer; /* as a worker has it */
    double began = cpu_ms();
    struct fz_error err;
    *ret_bytes = 0;
    for (size_t i = part; i < n; i += PARTS) {
        void *packed = NULL;
        size_t len = 0;
        check(store_pack_with(texts[i].bytes, dictionary, &packer, &packed, &len, &err), &err);
        *ret_bytes += len;
        free(packed);
    }
    return cpu_ms() - began;
}

int
main(int argc, char **argv)
{
    static struct text texts[FILES];
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer bytes = fz_buffer_make(ALL);
    size_t sums[2] = {0, 0}, all = 0, row = 0;
    double times[2] = {0, 0}, trained = 0;
    if (argc != 2 || !fz_buffer_room(&bytes, ALL - 1)) /* so that it never moves */
        return 2;
    size_t n = read_texts(argv[1], &bytes, texts);
    for (size_t i = 0; i < n; i++)
        all += texts[i].bytes.len;
    for (size_t part = 0; part < PARTS; part++) {
        double began = cpu_ms(), least[2] = {1e9, 1e9};
        size_t packed[2] = {0, 0};
        FZ_CLEANUP(store_dictionary_releasep)
        struct store_dictionary *dictionary = train(texts, n, part, &row);
        trained += cpu_ms() - began;
        for (int round = 0; round <= ROUNDS; round++) {
            for (int with = 0; with < 2; with++) {
                double ms = pack(texts, n, part, with ? dictionary : NULL, &packed[with]);
                if (round > 0 && ms < least[with]) /* the first one makes the tables */
                    least[with] = ms;
            }
        }
        for (int with = 0; with < 2; with++) {
            sums[with] += packed[with];
            times[with] += least[with];
        }
    }
    double count = n ? (double)n : 1;
    printf("%zu %zu %zu %zu %zu %.3f %.3f %.0f\n", n, all, sums[0], sums[1], row / PARTS,
           times[0] / count, times[1] / count, trained / PARTS);
    return 0;
}
