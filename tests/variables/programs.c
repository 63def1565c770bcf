/*
 * Values of recorded crashes compared with what the same program printed about itself.
 *
 * usage: variables_programs DATA NAME MINIMUM: at least MINIMUM values of NAME.truth must be right
 * with the binary. None may be wrong, with the binary or without, unless it is marked as stale.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolicator/variables/context.h"
#include "tests/variables/dump.h"

enum { LINE_MAX_BYTES = 1024, INSTANCES_MAX = 64 };

/* One printed variable: "function path kind availability {type} = value". */
struct seen {
    char value[LINE_MAX_BYTES]; /* "" = none */
    bool is_stale;
};

/* All instances of a variable in the output, newest frame first. A frame without it counts too. */
static size_t
find(const char *output, const char *function, const char *path, struct seen ret[INSTANCES_MAX])
{
    size_t n = 0, function_len = strlen(function), path_len = strlen(path);
    bool is_inside = false;
    for (const char *line = output, *end; *line && n < INSTANCES_MAX; line = end + 1) {
        end = strchr(line, '\n');
        if (*line == '@') {
            is_inside =
                strncmp(line + 1, function, function_len) == 0 && line[1 + function_len] == ' ';
            if (is_inside)
                ret[n++] = (struct seen){.value = ""};
        }
        const char *rest = line + function_len + 1;
        if (!is_inside || *line == '@' || strncmp(rest, path, path_len) != 0 ||
            rest[path_len] != ' ')
            continue;
        const char *equals = strstr(rest, "} = ");
        const char *stale = strstr(rest, ",stale {");
        struct seen *seen = &ret[n - 1];
        seen->is_stale = stale && stale < end;
        if (equals && equals < end)
            snprintf(seen->value, sizeof(seen->value), "%.*s", (int)(end - equals - 4), equals + 4);
    }
    return n;
}

struct score {
    size_t n, n_right, n_wrong, n_stale;
};

/* A pointer that is shown without its text is right as far as it goes. */
static bool
is_bare_pointer(const char *value)
{
    return strncmp(value, "0x", 2) == 0 && strchr(value, ' ') == NULL;
}

/* The `k`th of `n` lines with this function and path; the program prints the oldest frame first. */
static void
compare(const char *output, const char *function, const char *path, const char *want,
        const size_t place[2], struct score *score)
{
    static struct seen seen[INSTANCES_MAX];
    size_t found = find(output, function, path, seen), k = place[0], n = place[1];
    score->n++;
    /* Where only some calls print, they are the last ones. */
    size_t oldest = found > n ? found - n : 0;
    if (k + oldest >= found)
        return;
    const struct seen *one = &seen[found - 1 - (k + oldest)];
    if (strcmp(one->value, want) == 0)
        score->n_right++;
    else if (one->value[0] && one->is_stale)
        score->n_stale++;
    else if (one->value[0] && !is_bare_pointer(one->value)) {
        score->n_wrong++;
        printf("%s %s: %s, not %s\n", function, path, one->value, want);
    }
}

static size_t
count_lines(const char *truth, const char *line, size_t len)
{
    size_t n = 0;
    for (const char *at = truth; at && *at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
        n += strncmp(at, line, len) == 0;
    return n;
}

static struct score
compare_all(const char *output, const char *truth)
{
    struct score score = {0};
    char line[LINE_MAX_BYTES];
    for (const char *at = truth, *end; (end = strchr(at, '\n')); at = end + 1) {
        snprintf(line, sizeof(line), "%.*s", (int)(end - at), at);
        char *equals = strstr(line, " = "), *space = strchr(line, ' ');
        if (!equals || !space || space >= equals)
            continue;
        size_t len = (size_t)(equals - line) + 3;
        size_t place[2] = {0, count_lines(truth, line, len)};
        for (const char *before = truth; before < at; before = strchr(before, '\n') + 1)
            place[0] += strncmp(before, line, len) == 0;
        *equals = *space = '\0';
        compare(output, line, space + 1, equals + 3, place, &score);
    }
    return score;
}

/* The index says where the functions are: nothing was searched for. */
static bool
is_by_index(const struct sym_variables *variables)
{
    for (size_t i = 0; i < variables->n_images; i++) {
        if (variables->images[i]->has_code) {
            printf("a function was not found by the index\n");
            return false;
        }
    }
    return variables->n_images > 0;
}

static bool
run(const char *base, bool with_binary, const char *truth, struct score *ret)
{
    static struct dump dump;
    struct sym_variables *variables = NULL;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    char path[LINE_MAX_BYTES], dsym[LINE_MAX_BYTES], binary[LINE_MAX_BYTES];
    snprintf(path, sizeof(path), "%s.gz", base);
    snprintf(dsym, sizeof(dsym), "%s.dsym.gz", base);
    snprintf(binary, sizeof(binary), "%s.binary.gz", base);
    bool is_open = dump_open(&dump, path, dsym, with_binary ? binary : NULL) &&
                   sym_variables_create(dump.process, NULL, &dump.arena, &variables, NULL) == FZ_OK;
    if (is_open) {
        dump_print(variables, &dump, &out);
        *ret = compare_all(fz_buffer_cstr(&out), truth);
        printf("%s: %zu of %zu right, %zu stale, %zu wrong\n",
               with_binary ? "with the binary" : "dSYM alone", ret->n_right, ret->n, ret->n_stale,
               ret->n_wrong);
        is_open = is_by_index(variables);
    }
    sym_variables_destroy(variables);
    dump_close(&dump);
    return is_open;
}

int
main(int argc, char **argv)
{
    static char truth[1 << 16];
    char base[LINE_MAX_BYTES], path[LINE_MAX_BYTES];
    struct score with = {0}, without = {0};
    if (argc != 4)
        return 2;
    snprintf(base, sizeof(base), "%s/%s", argv[1], argv[2]);
    snprintf(path, sizeof(path), "%s.truth", base);
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(truth, 1, sizeof(truth) - 1, file) : 0;
    if (file)
        fclose(file);
    truth[n] = '\0';
    if (n == 0 || !run(base, true, truth, &with) || !run(base, false, truth, &without))
        return 1;
    if (with.n_right < strtoul(argv[3], NULL, 10)) {
        printf("at least %s must be right\n", argv[3]);
        return 1;
    }
    return with.n_wrong || without.n_wrong ? 1 : 0;
}
