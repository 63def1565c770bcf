#define _GNU_SOURCE
#include "tests/variables/dump.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <zlib.h>

#include "base/file.h"
#include "base/text.h"
#include "server/report/report.h"
#include "symbolicator/macho/macho.h"

enum { FILE_MAX = 64 << 20, ARENA_MAX = 256 << 20, WORD_MAX = 32 };

/* A file as it is, or unpacked; gzread() does both. */
static bool
read_file(struct dump *dump, const char *path, struct fz_span *ret)
{
    gzFile file = gzopen(path, "rb");
    if (!file)
        return false;
    size_t n = 0, room = 1 << 16;
    uint8_t *bytes = malloc(room);
    for (int got = 1; bytes && got > 0 && n < FILE_MAX; n += (size_t)(got > 0 ? got : 0)) {
        if (room - n < 4096)
            bytes = realloc(bytes, room *= 2);
        got = bytes ? gzread(file, bytes + n, (unsigned)(room - n)) : -1;
    }
    gzclose(file);
    uint8_t *copy = bytes ? fz_arena_alloc(&dump->arena, n + 1) : NULL;
    if (copy)
        memcpy(copy, bytes, n);
    free(bytes);
    *ret = fz_span_make(copy, n);
    return copy != NULL;
}

static bool
read_macho(struct dump *dump, const char *path, struct sym_macho *ret)
{
    struct fz_span bytes;
    struct sym_problems problems = {0};
    struct fz_error err;
    if (!read_file(dump, path, &bytes)) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return false;
    }
    if (sym_macho_open(bytes, &dump->arena, ret, &problems, &err) != FZ_OK) {
        fprintf(stderr, "%s: %s\n", path, err.text);
        return false;
    }
    return true;
}

static void
read_vector(struct dump *dump, const char *name, const char *hex)
{
    struct fz_arch_vector vector;
    if (!fz_arch_vector_of_name(dump->cpu, name, &vector) || strlen(hex) > 32 ||
        !fz_text_unhex(fz_span_cstr(hex), dump->registers.vectors[vector.index].bytes))
        return;
    dump->registers.vectors[vector.index].size = (uint8_t)(strlen(hex) / 2);
}

static bool
read_memory(struct dump *dump, uint64_t addr, const char *hex)
{
    size_t n = strlen(hex) / 2;
    uint8_t *bytes = fz_arena_alloc(&dump->arena, n + 1);
    if (!bytes || dump->n_regions == DUMP_REGIONS_MAX || !fz_text_unhex(fz_span_cstr(hex), bytes))
        return false;
    dump->regions[dump->n_regions++] =
        (struct sym_process_region){.addr = addr, .bytes = fz_span_make(bytes, n)};
    return true;
}

static bool
read_line(struct dump *dump, char *line)
{
    char *save, *what = strtok_r(line, " ", &save), *a = strtok_r(NULL, " ", &save),
                *b = strtok_r(NULL, " ", &save);
    if (!what || !a)
        return true;
    if (strcmp(what, "cpu") == 0) {
        dump->cpu = fz_arch_cpu(a);
    } else if (!b) {
        return false;
    } else if (strcmp(what, "reg") == 0) {
        int number = fz_arch_register_number(dump->cpu, a);
        if (number >= 0)
            sym_registers_set(&dump->registers, number, strtoull(b, NULL, 16));
    } else if (strcmp(what, "vec") == 0) {
        read_vector(dump, a, b);
    } else if (strcmp(what, "image") == 0 && dump->n_images < DUMP_IMAGES_MAX) {
        dump->images[dump->n_images++] = (struct sym_process_image){.addr = strtoull(a, NULL, 16),
                                                                    .size = strtoull(b, NULL, 16)};
    } else if (strcmp(what, "mem") == 0) {
        return read_memory(dump, strtoull(a, NULL, 16), b);
    }
    return true;
}

static enum fz_code
files_of(void *user, size_t image, struct sym_process_files *ret, struct fz_error *err)
{
    struct dump *dump = user;
    if (image != 0)
        return fz_fail(err, FZ_E_NOT_FOUND, "no files");
    *ret = (struct sym_process_files){.dsym = dump->has_dsym ? &dump->dsym : NULL,
                                      .binary = dump->has_binary ? &dump->binary : NULL,
                                      .index = dump->index};
    return FZ_OK;
}

static bool
build_index(struct dump *dump)
{
    struct sym_build_stats stats;
    struct sym_problems problems = {0};
    FZ_CLEANUP(fz_closep) int fd = memfd_create("index", MFD_CLOEXEC);
    const struct sym_build_options options = {.n_threads = 1};
    return sym_index_build(dump->has_dsym ? &dump->dsym : &dump->binary, &options, fd, &stats,
                           &problems, NULL) == FZ_OK &&
           sym_index_open_fd(fd, &dump->index, NULL) == FZ_OK;
}

bool
dump_open(struct dump *dump, const char *path, const char *dsym, const char *binary)
{
    struct fz_span text;
    struct fz_error err = {0};
    memset(dump, 0, sizeof(*dump));
    dump->arena = fz_arena_make(ARENA_MAX);
    if (!read_file(dump, path, &text)) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return false;
    }
    dump->has_dsym = dsym != NULL;
    dump->has_binary = binary != NULL;
    if ((dsym && !read_macho(dump, dsym, &dump->dsym)) ||
        (binary && !read_macho(dump, binary, &dump->binary)))
        return false;
    char *save, *lines = fz_arena_text(&dump->arena, text);
    for (char *line = strtok_r(lines, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (!read_line(dump, line)) {
            fprintf(stderr, "%s: a line cannot be read\n", path);
            return false;
        }
    }
    const struct sym_process_source source = {
        .cpu = dump->cpu,
        .regions = dump->regions,
        .n_regions = dump->n_regions,
        .images = dump->images,
        .n_images = dump->n_images,
        .files = files_of,
        .user = dump,
    };
    if ((dsym || binary) && !build_index(dump))
        return false;
    if (sym_process_create(&source, &dump->arena, &dump->process, &err) == FZ_OK &&
        sym_unwind(dump->process, &dump->registers, 64, &dump->arena, &dump->chain, &err) == FZ_OK)
        return true;
    fprintf(stderr, "%s: %s\n", path, err.text);
    return false;
}

void
dump_close(struct dump *dump)
{
    sym_process_destroy(dump->process);
    sym_index_close(dump->index);
    fz_arena_deinit(&dump->arena);
}

/* A variable and its fields: "item.price", "item.*.price". `depth` limits what is printed. */
static void
print_variable(const struct sym_variable *variable, const char *function, const char *prefix,
               struct fz_buffer *out)
{
    char path[512];
    bool is_element = variable->name && variable->name[0] == '[';
    snprintf(path, sizeof(path), "%s%s%s", prefix, *prefix && !is_element ? "." : "",
             variable->name ? variable->name : "");
    fz_buffer_printf(
        out, "%s %s %s %s%s", function, path, report_variable_kind_names[variable->kind],
        report_availability_names[variable->availability], variable->maybe_stale ? ",stale" : "");
    fz_buffer_printf(out, " {%s}", variable->type ? variable->type : "");
    if (variable->value)
        fz_buffer_printf(out, " = %s", variable->value);
    if (variable->location && getenv("DUMP_LOCATIONS"))
        fz_buffer_printf(out, "  (%s)", variable->location);
    fz_buffer_char(out, '\n');
    for (size_t i = 0; i < variable->n_fields; i++)
        print_variable(&variable->fields[i], function, path, out);
}

void
dump_print(struct sym_variables *variables, const struct dump *dump, struct fz_buffer *out)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_MAX);
    for (size_t i = 0; i < dump->chain.n; i++) {
        struct sym_scope *scopes;
        size_t n;
        struct fz_error err;
        if (sym_variables_at(variables, &dump->chain, i, &scopes, &n, &err) != FZ_OK) {
            fz_buffer_printf(out, "#%zu error %s\n", i, err.text);
            continue;
        }
        fz_buffer_printf(out, "#%zu trust %d\n", i, (int)dump->chain.frames[i].trust);
        for (size_t k = 0; k < n; k++) {
            char *function = fz_arena_strdup(&arena, scopes[k].function ? scopes[k].function : "?");
            /* Names of methods have a space. */
            for (char *at = function; at && *at; at++)
                *at = *at == ' ' ? '~' : *at;
            fz_buffer_printf(out, "@%s%s %s\n", function, scopes[k].inlined ? " inlined" : "",
                             report_availability_names[scopes[k].availability]);
            for (size_t v = 0; v < scopes[k].n; v++)
                print_variable(&scopes[k].variables[v], function, "", out);
        }
    }
}
