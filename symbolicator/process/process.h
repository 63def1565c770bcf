/*
 * A crashed process as far as it was captured: memory, images, and what their files add to it.
 *
 * The unwinder and the variables read memory through it and nowhere else, so nothing outside the
 * captured bytes can be read. The read-only bytes of uploaded binaries (__TEXT) count as captured:
 * they are the same in the process. Pointers in data sections of a file are not: dyld rebases them.
 */
#ifndef SYM_PROCESS_PROCESS_H
#define SYM_PROCESS_PROCESS_H

#include "base/arch/vectors.h"
#include "symbolicator/symbolicator.h"

/* Limits; more is left out, beginning with the last regions that the caller names. */
enum {
    SYM_PROCESS_REGIONS_MAX = 4096,
    SYM_PROCESS_REGION_BYTES_MAX = 1024 * 1024,
    SYM_PROCESS_BYTES_MAX = 8 * 1024 * 1024,
};

/* Registers of one frame. A register that is not known has no value: a callee-saved one whose place
 * is unknown, a caller-saved one of any frame but the first. */
struct sym_registers {
    uint64_t value[FZ_REGISTER_NUMBERS]; /* by the numbers of base/arch/registers.h */
    bool known[FZ_REGISTER_NUMBERS];
    struct sym_vector {
        uint8_t bytes[16]; /* little-endian */
        uint8_t size;      /* how many of the low bytes are known: 0, 4, 8 or 16 */
    } vectors[FZ_VECTORS]; /* v0 to v31, xmm0 to xmm15, d0 to d31: base/arch/vectors.h */
};

/* False if it is not known, or the number is not of such a register. */
bool sym_registers_get(const struct sym_registers *registers, int number, uint64_t *ret);
/* Numbers outside of the table are ignored. */
void sym_registers_set(struct sym_registers *registers, int number, uint64_t value);

/* Captured bytes; must outlive the process. Regions may overlap and be in any order. */
struct sym_process_region {
    uint64_t addr;
    struct fz_span bytes;
};

/* The load address and the bytes in memory, as the report says; size 0 = not known: it reaches to
 * the next image, or 256 MiB. Of images that overlap, the one that begins last counts. */
struct sym_process_image {
    uint64_t addr, size;
};

/* What was uploaded for an image. Borrowed for the life of the process; NULL = not there. */
struct sym_process_files {
    const struct sym_macho *dsym, *binary; /* one may be both, as in a program with its own DWARF */
    const struct sym_index *index;
};

/* Asked at most once for each image, when its files are first needed. NOT_FOUND: there are none. */
typedef enum fz_code (*sym_process_files_fn)(void *user, size_t image,
                                             struct sym_process_files *ret, struct fz_error *err);

struct sym_process_source {
    enum fz_arch_cpu cpu;
    bool is_arm64_32; /* registers of arm64, pointers of 4 bytes */
    const struct sym_process_region *regions;
    size_t n_regions;
    const struct sym_process_image *images;
    size_t n_images;
    sym_process_files_fn files; /* NULL = none */
    void *user;
};

struct sym_process; /* opaque; not for several threads at once */

/* Everything is copied but the bytes of the regions; memory comes from the arena, which must outlive
 * the process. The caller owns *ret (sym_process_destroy()). LIMIT, NO_MEMORY: the arena. */
FZ_MUST_CHECK enum fz_code sym_process_create(const struct sym_process_source *source,
                                              struct fz_arena *arena, struct sym_process **ret,
                                              struct fz_error *err);
void sym_process_destroy(struct sym_process *process);

enum fz_arch_cpu sym_process_cpu(const struct sym_process *process);
unsigned sym_process_pointer_size(const struct sym_process *process); /* 4 or 8 */

/* Copy `n` bytes at `addr`; false and `to` untouched unless all of them were captured or are
 * read-only bytes of a binary. */
bool sym_process_read(struct sym_process *process, uint64_t addr, void *to, size_t n);
/* The captured bytes at `addr`, at most `n`, at least one; an empty span if there are none. */
struct fz_span sym_process_bytes(struct sym_process *process, uint64_t addr, size_t n);
bool sym_process_read_uint(struct sym_process *process, uint64_t addr, unsigned size,
                           uint64_t *ret);
bool sym_process_read_pointer(struct sym_process *process, uint64_t addr, uint64_t *ret);

/* The image at an address, -1 if none. */
int sym_process_image_at(const struct sym_process *process, uint64_t addr);
/* The files of an image; asks for them at the first call. Never NULL: files that cannot be had are.
 */
const struct sym_process_files *sym_process_files(struct sym_process *process, int image);
/* From an address in the process to one in the image's files, by __TEXT's vmaddr; and back. False
 * without files. */
bool sym_process_to_file(struct sym_process *process, int image, uint64_t addr, uint64_t *ret);
bool sym_process_from_file(struct sym_process *process, int image, uint64_t vmaddr, uint64_t *ret);

/* A code pointer without its signature (arm64: the widest of 64, 47, 39 and 36 bits that leads into
 * an image) and without the Thumb bit. False if no image is there; *ret is `pointer` then. */
bool sym_process_code(const struct sym_process *process, uint64_t pointer, uint64_t *ret);

/* What a reader of frames keeps for an image, so that it is opened once: NULL at first, then what
 * was kept last. sym_process_destroy() ends it with `destroy`. */
void *sym_process_kept(const struct sym_process *process, int image);
void sym_process_keep(struct sym_process *process, int image, void *object,
                      void (*destroy)(void *object));

#endif
