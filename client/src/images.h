/*
 * The images of a task: from dyld's list (mach-o/dyld_images.h) and the load commands in memory (mach-o/loader.h).
 *
 * Read through the task's port and with bounds everywhere: the list of a crashed process may be damaged.
 */
#ifndef FRAMEZERO_IMAGES_H
#define FRAMEZERO_IMAGES_H

#include "memory.h"
#include "record.h"
#include "write.h"

enum {
    FRAMEZERO_IMAGES = 2048,
    FRAMEZERO_SECTIONS = 128, /* of interest: the record, the texts of crashes, data of the app */
};

enum framezero_section_kind {
    FRAMEZERO_SECTION_RECORD,
    FRAMEZERO_SECTION_INFO,
    FRAMEZERO_SECTION_DATA
};

/* In ascending order of address. */
struct framezero_images {
    unsigned n, n_sections;
    bool is_cut;                    /* more images than this, or an image that could not be read */
    bool is_unknown;                /* dyld's list could not be read at all */
    uint64_t cache_low, cache_high; /* where the shared cache's code is */
    struct framezero_image {
        uint64_t addr, size; /* of __TEXT */
        uint64_t path;       /* address of the text */
        uint64_t slide;      /* from the addresses of its load commands */
        uint8_t uuid[16];
        uint32_t cpu_type, cpu_subtype;
        bool has_uuid, in_cache, is_hit, is_program;
    } list[FRAMEZERO_IMAGES];
    struct framezero_section {
        enum framezero_section_kind kind;
        uint64_t addr, size;
        uint64_t image; /* its address */
    } sections[FRAMEZERO_SECTIONS];
};

void framezero_images_read(struct framezero_images *images, mach_port_t task);

/* The image whose code contains `addr` (any pointer, signed or not), NULL if none. */
struct framezero_image *framezero_images_find(struct framezero_images *images, uint64_t addr);

/* False: there is none, or it is not from framezero_install(). All texts of *ret end with a zero. */
bool framezero_images_record(const struct framezero_images *images, mach_port_t task,
                             struct framezero_record *ret);

/* The text that a library of the task left for reports of its crash: "Fatal error: …". Empty if there is none. */
void framezero_images_crash_text(const struct framezero_images *images, mach_port_t task, char *to,
                                 size_t size);

/* Images outside of the shared cache, and those that were hit. */
void framezero_images_write(const struct framezero_images *images, mach_port_t task,
                            struct framezero_writer *w);

#endif
