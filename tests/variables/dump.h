/*
 * Captured processes in a text form, for tests: registers, images and memory of one crashed thread.
 *
 * Lines: "cpu arm64", "reg x0 1f", "vec v8 <hex, lowest byte first>", "image 100000000 8000",
 * "mem 16f0ffa60 <hex>"; numbers are hexadecimal. make.py writes them from a report; they and the
 * files of the program may be compressed with gzip.
 */
#ifndef VARIABLES_DUMP_H
#define VARIABLES_DUMP_H

#include "symbolicator/variables/variables.h"

enum { DUMP_REGIONS_MAX = 1024, DUMP_IMAGES_MAX = 4 };

/* A process, its files and its chain; all memory is the arena's but the index and the process. */
struct dump {
    struct fz_arena arena;
    struct sym_registers registers;
    enum fz_arch_cpu cpu;
    struct sym_process_region regions[DUMP_REGIONS_MAX];
    size_t n_regions;
    struct sym_process_image images[DUMP_IMAGES_MAX];
    size_t n_images;
    struct sym_macho dsym, binary;
    bool has_dsym, has_binary;
    struct sym_index *index;
    struct sym_process *process;
    struct sym_unwind_chain chain;
};

/* Read `path` and the files `path`.dsym and `path`.binary (NULL = not used). False, with a message,
 * if something cannot be read. */
bool dump_open(struct dump *dump, const char *path, const char *dsym, const char *binary);
void dump_close(struct dump *dump);

/* Print all frames: "#0 function", then for each variable
 * "function path kind availability[,stale] type = value". */
void dump_print(struct sym_variables *variables, const struct dump *dump, struct fz_buffer *out);

#endif
