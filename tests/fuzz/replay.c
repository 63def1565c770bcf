/*
 * Replaces libFuzzer: runs one fuzz target over the files of a corpus, each within a time
 * limit.
 *
 * Usage: replay_<name> SECONDS DIRECTORY. The empty input is always tried first, so that a target
 * is run even before it has seeds. Every input is copied into a block of exactly its size: the
 * address sanitizer then sees a read of one byte too many.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
on_alarm(int signal_number)
{
    static const char text[] = "over its time limit\n";
    (void)signal_number;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) {
        _exit(3);
    }
    _exit(2);
}

static void
run_bytes(const char *name, const uint8_t *bytes, size_t size, unsigned limit_s)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL) {
        fprintf(stderr, "no memory for %s\n", name);
        exit(1);
    }
    if (size > 0) {
        memcpy(copy, bytes, size);
    }
    /* Printed before it runs: after a crash, the last line names the input. */
    printf("%s (%zu bytes)\n", name, size);
    fflush(stdout);
    alarm(limit_s);
    LLVMFuzzerTestOneInput(copy, size);
    alarm(0);
    free(copy);
}

static void
run_file(const char *path, unsigned limit_s)
{
    struct stat info;
    FILE *file = fopen(path, "rb");
    if (file == NULL || fstat(fileno(file), &info) != 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(1);
    }
    size_t size = (size_t)info.st_size;
    uint8_t *bytes = malloc(size > 0 ? size : 1);
    if (bytes == NULL || fread(bytes, 1, size, file) != size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    fclose(file);
    run_bytes(path, bytes, size, limit_s);
    free(bytes);
}

static int
is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int
main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s SECONDS DIRECTORY\n", argv[0]);
        return 2;
    }
    unsigned limit_s = (unsigned)strtoul(argv[1], NULL, 10);
    signal(SIGALRM, on_alarm);
    run_bytes("the empty input", NULL, 0, limit_s);

    struct dirent **entries = NULL;
    int n_entries = scandir(argv[2], &entries, is_input, alphasort);
    if (n_entries <= 0) {
        fprintf(stderr, "%s: no seeds: every fuzz target has some\n", argv[2]);
        return 1;
    }
    for (int i = 0; i < n_entries; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", argv[2], entries[i]->d_name);
        run_file(path, limit_s);
        free(entries[i]);
    }
    free(entries);
    printf("%d inputs replayed\n", n_entries);
    return 0;
}
