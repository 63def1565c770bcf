/* framezero lookup: addresses on standard input to names out of a symbol index. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/text.h"
#include "server/cmd.h"
#include "symbolicator/demangle.h"
#include "symbolicator/index.h"

enum { PATH_ROOM = 8192 };

static int
usage(FILE *to)
{
    fprintf(to, "usage: framezero lookup INDEX [--json] [--bench N] < ADDRESSES\n\n"
                "Addresses are hex, one a line, as they stand in the symbol file. --bench makes N\n"
                "lookups over them and prints nanoseconds (of CPU time) per lookup.\n");
    return to == stdout ? 0 : 2;
}

/* The next address; 1 read, 0 end of input, -1 the line holds none. */
static int
read_address(char **line, size_t *room, uint64_t *ret)
{
    ssize_t len = getline(line, room, stdin);
    if (len < 0)
        return 0;
    struct fz_span text = fz_span_make(*line, (size_t)len);
    while (text.len && strchr(" \t\r\n", text.data[text.len - 1]))
        text.len--;
    while (text.len && strchr(" \t", text.data[0])) {
        text.data++;
        text.len--;
    }
    return fz_text_hex_u64(text, ret) ? 1 : -1;
}

/* ---- names ------------------------------------------------------------------------------- */

/* The readable form of each name that came up, by the name's place in the mapped index: the same
 * few functions are asked for again and again, and demangling costs more than the lookup. */
enum { NAMES_LOG2 = 16, NAMES_MAX = 1 << NAMES_LOG2, NAMES_BYTES = 64 * 1024 * 1024 };

struct names {
    struct fz_arena arena;
    struct {
        const char *name, *readable;
    } * slots; /* NAMES_MAX of them; a newer name takes the place of an older one */
    struct fz_buffer text;
};

static void
names_deinit(struct names *names)
{
    free(names->slots);
    fz_buffer_deinit(&names->text);
    fz_arena_deinit(&names->arena);
}

static bool
names_init(struct names *names)
{
    fz_arena_init(&names->arena, NAMES_BYTES);
    fz_buffer_init(&names->text, 0);
    names->slots = calloc(NAMES_MAX, sizeof(*names->slots));
    return names->slots != NULL;
}

/* Borrowed until the next call. */
static const char *
readable(struct names *names, const struct sym_frame *frame)
{
    uint64_t hash = (uint64_t)(uintptr_t)frame->name * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash >> (64 - NAMES_LOG2));
    if (names->slots[at].name == frame->name)
        return names->slots[at].readable;
    fz_buffer_clear(&names->text);
    sym_demangle(frame->name, frame->source != SYM_SOURCE_DWARF, NULL, &names->text);
    const char *kept = fz_arena_text(&names->arena, fz_buffer_span(&names->text));
    if (!kept) /* the cache is full */
        return fz_buffer_cstr(&names->text);
    names->slots[at].name = frame->name;
    names->slots[at].readable = kept;
    return kept;
}

/* ---- one address ------------------------------------------------------------------------- */

static void
append_u64(struct fz_buffer *out, const char *before, uint64_t value)
{
    char digits[24], *p = digits + sizeof(digits);
    do
        *--p = (char)('0' + value % 10);
    while (value /= 10);
    fz_buffer_text(out, before);
    fz_buffer_append(out, p, (size_t)(digits + sizeof(digits) - p));
}

static void
append_member(struct fz_buffer *out, const char *key, const char *text)
{
    fz_buffer_text(out, key);
    fz_text_json_append(out, fz_span_cstr(text));
    fz_buffer_char(out, ',');
}

static void
append_symbol(struct fz_buffer *out, struct names *names, const struct sym_frame *frame,
              uint64_t addr)
{
    char path[PATH_ROOM];
    fz_buffer_char(out, '{');
    if (frame->name[0]) {
        append_member(out, "\"function\":", readable(names, frame));
        append_member(out, "\"mangled\":", frame->name);
    }
    if (frame->file[0]) {
        sym_frame_path(frame, path, sizeof(path));
        append_member(out, "\"file\":", path);
    }
    if (frame->line)
        append_u64(out, "\"line\":", frame->line);
    if (frame->column)
        append_u64(out, frame->line ? ",\"column\":" : "\"column\":", frame->column);
    if (frame->line || frame->column)
        fz_buffer_char(out, ',');
    if (!frame->inlined) {
        append_u64(out, "\"offset\":", addr - frame->function_start);
        fz_buffer_char(out, ',');
    }
    fz_buffer_text(out, frame->inlined ? "\"inlined\":true,\"source\":\""
                                       : "\"inlined\":false,\"source\":\"");
    fz_buffer_text(out, sym_source_name(frame->source));
    fz_buffer_text(out, "\"}");
}

static void
append_json(struct fz_buffer *out, struct names *names, const struct sym_index *index,
            uint64_t addr, const struct sym_frame *frames, size_t n)
{
    fz_buffer_printf(out, "{\"address\":\"0x%llx\",\"symbols\":[", (unsigned long long)addr);
    for (size_t i = 0; i < n; i++) {
        if (i)
            fz_buffer_char(out, ',');
        append_symbol(out, names, &frames[i], addr);
    }
    fz_buffer_char(out, ']');
    const char *aliases[16];
    size_t n_aliases = n ? sym_index_aliases(index, addr, aliases, FZ_ARRAY_LEN(aliases)) : 0;
    for (size_t i = 0; i < n_aliases && i < FZ_ARRAY_LEN(aliases); i++) {
        fz_buffer_text(out, i ? "," : ",\"aliases\":[");
        fz_text_json_append(out, fz_span_cstr(aliases[i]));
    }
    fz_buffer_text(out, n_aliases ? "]}\n" : "}\n");
}

static void
append_text(struct fz_buffer *out, struct names *names, uint64_t addr,
            const struct sym_frame *frames, size_t n)
{
    char path[PATH_ROOM];
    fz_buffer_printf(out, "0x%llx%s", (unsigned long long)addr, n ? "" : " ?");
    for (size_t i = 0; i < n; i++) {
        const struct sym_frame *frame = &frames[i];
        fz_buffer_text(out, i ? "\n    inlined into " : " ");
        fz_buffer_text(out, readable(names, frame));
        if (!frame->inlined)
            append_u64(out, " + ", addr - frame->function_start);
        if (!frame->file[0])
            continue;
        sym_frame_path(frame, path, sizeof(path));
        fz_buffer_text(out, " (");
        fz_buffer_text(out, path);
        append_u64(out, ":", frame->line);
        append_u64(out, ":", frame->column);
        fz_buffer_char(out, ')');
    }
    fz_buffer_char(out, '\n');
}

/* Look all addresses up again and again, touching names and files, n times in all. */
static int
bench(const struct sym_index *index, const struct fz_buffer *addresses, uint64_t n)
{
    struct sym_frame frames[SYM_FRAMES_MAX];
    size_t n_addresses = addresses->len / sizeof(uint64_t), at = 0;
    struct timespec begin, end;
    unsigned touched = 0;
    if (n_addresses == 0) {
        fprintf(stderr, "framezero lookup: --bench wants addresses on standard input\n");
        return 1;
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t addr;
        memcpy(&addr, addresses->data + at * sizeof(addr), sizeof(addr));
        at = at + 1 == n_addresses ? 0 : at + 1;
        size_t n_frames = sym_index_lookup(index, addr, frames, SYM_FRAMES_MAX);
        for (size_t k = 0; k < n_frames; k++)
            touched += (unsigned char)frames[k].name[0] + (unsigned char)frames[k].file[0];
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    double ns = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
    printf("%.1f ns per lookup\n", n ? ns / (double)n : 0.0);
    return touched == 0 && n ? 1 : 0; /* no address has a name */
}

static int
look_up_all(const struct sym_index *index, bool is_json, uint64_t n_bench)
{
    struct fz_buffer out FZ_CLEANUP(fz_buffer_deinit) = {0};
    struct fz_buffer addresses FZ_CLEANUP(fz_buffer_deinit) = {0};
    struct names names FZ_CLEANUP(names_deinit);
    struct sym_frame frames[SYM_FRAMES_MAX];
    char *line = NULL;
    size_t room = 0;
    uint64_t addr;
    int status = 0, got;
    if (!names_init(&names)) {
        fprintf(stderr, "framezero lookup: out of memory\n");
        return 1;
    }
    fz_buffer_init(&out, 0);
    fz_buffer_init(&addresses, 0);
    while ((got = read_address(&line, &room, &addr)) != 0) {
        if (got < 0) {
            fprintf(stderr, "framezero lookup: no address: %s", line);
            status = 1;
            continue;
        }
        if (n_bench) {
            fz_buffer_append(&addresses, &addr, sizeof(addr));
            continue;
        }
        size_t n = sym_index_lookup(index, addr, frames, SYM_FRAMES_MAX);
        if (is_json)
            append_json(&out, &names, index, addr, frames, n);
        else
            append_text(&out, &names, addr, frames, n);
        fwrite(fz_buffer_cstr(&out), 1, out.len, stdout);
        fz_buffer_clear(&out);
    }
    free(line);
    if (n_bench && bench(index, &addresses, n_bench))
        status = 1;
    return fflush(stdout) == 0 ? status : 1;
}

int
cmd_lookup(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'},
        {"bench", required_argument, NULL, 'b'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    bool is_json = false;
    uint64_t n_bench = 0;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 'j')
            is_json = true;
        else if (c == 'h')
            return usage(stdout);
        else if (c != 'b' || !fz_text_u64(fz_span_cstr(optarg), &n_bench) || n_bench == 0)
            return usage(stderr);
    }
    if (optind + 1 != argc)
        return usage(stderr);
    FZ_CLEANUP(sym_index_closep) struct sym_index *index = NULL;
    struct fz_error err;
    if (sym_index_open(argv[optind], &index, &err) != FZ_OK) {
        fprintf(stderr, "framezero lookup: %s\n", err.text);
        return 1;
    }
    return look_up_all(index, is_json, n_bench);
}
