#include "symbolicator/dwarf/libdwarf_object.h"

#include <stdio.h>
#include <stdlib.h>

#include <dwarf.h>

#include "symbolicator/macho/compressed.h"

enum { SECTIONS_MAX = 64, NAME_MAX_LEN = 32 };
static const char ZDEBUG[] = "__zdebug_";

struct object_section {
    char name[NAME_MAX_LEN]; /* as ELF spells it: ".debug_info" */
    struct fz_span bytes;
    uint8_t *inflated; /* owned, of a compressed section */
    uint64_t addr;
};

struct libdwarf_object {
    const struct sym_macho *macho;
    struct Dwarf_Obj_Access_Interface_a_s interface;
    Dwarf_Debug dbg;
    struct object_section sections[SECTIONS_MAX]; /* the first is empty, as in ELF */
    size_t n_sections;
    uint64_t size; /* of the file, as far as libdwarf is to know */
};

static int
get_section_info(void *user, Dwarf_Unsigned number, Dwarf_Obj_Access_Section_a *ret, int *error)
{
    const struct libdwarf_object *object = user;
    (void)error;
    if (number >= object->n_sections)
        return DW_DLV_NO_ENTRY;
    const struct object_section *section = &object->sections[number];
    *ret = (Dwarf_Obj_Access_Section_a){
        .as_name = section->name, .as_addr = section->addr, .as_size = section->bytes.len};
    return DW_DLV_OK;
}

static Dwarf_Small
get_byte_order(void *user)
{
    const struct libdwarf_object *object = user;
    return object->macho->big_endian ? DW_END_big : DW_END_little;
}

static Dwarf_Small
get_length_size(void *user)
{
    (void)user;
    return 4; /* Apple's tools write 32-bit DWARF; each unit gives its own anyway */
}

static Dwarf_Small
get_pointer_size(void *user)
{
    const struct libdwarf_object *object = user;
    return (Dwarf_Small)fz_arch_pointer_size(object->macho->cputype);
}

static Dwarf_Unsigned
get_file_size(void *user)
{
    const struct libdwarf_object *object = user;
    /* libdwarf checks the sizes that headers claim against it. It also makes a table of as many
     * bytes, nearly, for what it allocates, and touches all of it at the end. */
    return object->size;
}

static Dwarf_Unsigned
get_section_count(void *user)
{
    const struct libdwarf_object *object = user;
    return object->n_sections;
}

static int
load_section(void *user, Dwarf_Unsigned number, Dwarf_Small **ret, int *error)
{
    const struct libdwarf_object *object = user;
    (void)error;
    if (number >= object->n_sections || object->sections[number].bytes.len == 0)
        return DW_DLV_NO_ENTRY;
    /* libdwarf only reads what it is given here; its type lacks the const. */
    *ret = (Dwarf_Small *)(uintptr_t)object->sections[number].bytes.data;
    return DW_DLV_OK;
}

static const Dwarf_Obj_Access_Methods_a methods = {
    .om_get_section_info = get_section_info,
    .om_get_byte_order = get_byte_order,
    .om_get_length_size = get_length_size,
    .om_get_pointer_size = get_pointer_size,
    .om_get_filesize = get_file_size,
    .om_get_section_count = get_section_count,
    .om_load_section = load_section,
};

/* As ELF calls it: Mach-O cuts names at 16 bytes. */
static void
set_name(struct object_section *added, const char *name)
{
    static const struct {
        const char *cut, *whole;
    } cuts[] = {
        {"__debug_str_offs", ".debug_str_offsets"}, {"__zdebug_str_off", ".debug_str_offsets"},
        {"__zdebug_line_st", ".debug_line_str"},    {"__zdebug_rnglist", ".debug_rnglists"},
        {"__zdebug_loclist", ".debug_loclists"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cuts); i++) {
        /* libdwarf knows the names of ELF only. */
        if (strcmp(name, cuts[i].cut) == 0)
            name = cuts[i].whole;
    }
    /* The content is inflated by now, so the section gets its plain name. */
    if (strncmp(name, ZDEBUG, sizeof(ZDEBUG) - 1) == 0)
        snprintf(added->name, sizeof(added->name), ".debug_%s", name + sizeof(ZDEBUG) - 1);
    else
        snprintf(added->name, sizeof(added->name), "%s%s", *name == '.' ? "" : ".",
                 *name == '.' ? name : name + 2);
}

/* A compressed section is inflated here, so that libdwarf sees what our scanner sees: of a broken
 * one what came out before the fault. */
static enum fz_code
add_section(struct libdwarf_object *object, const struct sym_section *section, struct fz_error *err)
{
    struct object_section *added = &object->sections[object->n_sections];
    size_t size, len = 0;
    added->bytes = section->bytes;
    added->addr = section->addr;
    set_name(added, section->name);
    if (strncmp(section->name, ZDEBUG, sizeof(ZDEBUG) - 1) == 0) {
        if (macho_compressed_size(section->bytes, section->name, &size, NULL) != FZ_OK || size == 0)
            return FZ_OK;
        added->inflated = malloc(size);
        if (!added->inflated)
            return FZ_OK; /* as the scanner does it: without this section */
        enum fz_code code =
            macho_inflate(section->bytes, section->name, added->inflated, size, &len, err);
        added->bytes = fz_span_make(added->inflated, len);
        if (code == FZ_E_NO_MEMORY) {
            /* Counted, so that libdwarf_object_close() frees what was inflated. */
            object->n_sections++;
            return code;
        }
    }
    object->n_sections++;
    object->size += added->bytes.len;
    return FZ_OK;
}

static bool
is_wanted(const struct sym_section *section, const struct sym_section *only)
{
    if (only)
        return section == only;
    /* What else a binary has would only cost libdwarf time. */
    return strcmp(section->segment, "__DWARF") == 0 || strcmp(section->name, "__eh_frame") == 0;
}

enum fz_code
libdwarf_object_fail(const struct libdwarf_object *object, Dwarf_Error error, const char *what,
                     struct fz_error *err)
{
    enum fz_code code = fz_fail(err, FZ_E_MALFORMED, "libdwarf: %s: %s", what,
                                error ? dwarf_errmsg(error) : "no such entry");
    /* DW_DLV_NO_ENTRY comes without an error object. */
    if (error)
        dwarf_dealloc_error(object->dbg, error);
    return code;
}

enum fz_code
libdwarf_object_open(const struct sym_macho *macho, const struct sym_section *only,
                     struct libdwarf_object **ret, struct fz_error *err)
{
    FZ_CLEANUP(libdwarf_object_closep) struct libdwarf_object *object = calloc(1, sizeof(*object));
    if (!object)
        return fz_fail(err, FZ_E_NO_MEMORY, "no memory for libdwarf");
    object->macho = macho;
    /* Section 0 is the empty one of ELF: libdwarf counts from there. */
    object->n_sections = 1;
    for (size_t i = 0; i < macho->n_sections && object->n_sections < SECTIONS_MAX; i++) {
        const struct sym_section *section = &macho->sections[i];
        if (!is_wanted(section, only) || section->bytes.len == 0 ||
            strncmp(section->name, "__", 2) != 0)
            continue;
        enum fz_code code = add_section(object, section, err);
        if (code != FZ_OK)
            return code;
    }
    if (!only)
        object->size = macho->bytes.len;
    object->interface.ai_object = object;
    object->interface.ai_methods = &methods;
    Dwarf_Error error = NULL;
    int status = dwarf_object_init_b(&object->interface, NULL, NULL, DW_GROUPNUMBER_ANY,
                                     &object->dbg, &error);
    if (status == DW_DLV_NO_ENTRY)
        return fz_fail(err, FZ_E_NOT_FOUND, "no debug information");
    if (status != DW_DLV_OK)
        return libdwarf_object_fail(object, error, "open", err);
    *ret = fz_take(&object);
    return FZ_OK;
}

void
libdwarf_object_close(struct libdwarf_object *object)
{
    if (!object)
        return;
    if (object->dbg)
        /* First, since libdwarf still refers to the inflated sections. */
        dwarf_object_finish(object->dbg);
    for (size_t i = 0; i < object->n_sections; i++)
        free(object->sections[i].inflated);
    free(object);
}

void
libdwarf_object_closep(struct libdwarf_object **object)
{
    libdwarf_object_close(*object);
    *object = NULL;
}

Dwarf_Debug
libdwarf_object_debug(const struct libdwarf_object *object)
{
    return object->dbg;
}
