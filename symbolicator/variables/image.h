/*
 * The open DWARF of one image: the function at an address, lines, location sections.
 *
 * An image is opened when its first frame is looked at. The index says where a function's DIE is;
 * where it does not, the roots of all units say where their code is, and one pass over a unit lists
 * its functions.
 */
#ifndef VARIABLES_IMAGE_H
#define VARIABLES_IMAGE_H

#include "symbolicator/variables/die.h"
#include "symbolicator/variables/variables.h"

/* What is known of one unit besides the scanner's record of it. */
struct variables_unit {
    struct sym_dwarf_scan functions;         /* once they are listed */
    struct sym_dwarf_lines lines;            /* once they are read */
    struct variables_containers *containers; /* container.c */
    struct variables_statics *statics;       /* globals.c */
    uint64_t loclists_base;
    uint16_t language;
    bool has_functions, has_lines, has_root;
    bool is_optimized; /* DW_AT_APPLE_optimized of its root */
};

struct variables_code { /* code of a unit, by address */
    uint64_t low, high;
    uint32_t unit;
};

/* A definition of a type in the table of definition.c. */
struct variables_definition {
    uint64_t hash, offset;
};

struct variables_image {
    struct sym_variables *variables;
    int number; /* of the process */
    const struct sym_process_files *files;
    const struct sym_macho *macho; /* the file that has the DWARF */
    struct sym_dwarf *dwarf;       /* NULL: none */
    struct fz_span loc, loclists;
    uint8_t *inflated[2];         /* of compressed sections; freed with the image */
    struct variables_unit *units; /* as many as the DWARF has */
    struct variables_code *code;  /* ascending by low */
    size_t n_code, room_code;
    bool has_code;                            /* once it is listed */
    struct variables_names *names;            /* of data; symbols.h */
    struct variables_functions *functions;    /* symbols of code; symbols.h */
    struct variables_definition *definitions; /* ascending by hash, once they are listed */
    size_t n_definitions, room_definitions;
    bool has_definitions;
    bool lacks_definitions; /* the file has more than were listed */
};

/* The image with this number; opened when it is first asked for. NULL: out of memory. */
struct variables_image *variables_image_get(struct sym_variables *variables, int number);
void variables_image_close(struct variables_image *image);

/* What is known of a unit of the image; its root is read at the first call. */
struct variables_unit *variables_image_unit(struct variables_image *image,
                                            const struct sym_dwarf_unit *unit);
bool variables_unit_is_c(const struct variables_unit *unit); /* C or Objective-C */
bool variables_unit_is_swift(const struct variables_unit *unit);

/* The DIE of the function that covers an address of the file; false if there is none. */
bool variables_image_function(struct variables_image *image, uint64_t addr,
                              struct variables_die *ret);
/* The first address of a function after its prologue, by the line table: that of its second row.
 * `low`: where the function begins. False if it is not known. */
bool variables_image_prologue_end(struct variables_image *image, const struct sym_dwarf_unit *unit,
                                  uint64_t low, uint64_t *ret);
/* The line at an address by the unit's line table; 0 = not known. */
uint32_t variables_image_line(struct variables_image *image, const struct sym_dwarf_unit *unit,
                              uint64_t addr);

#endif
