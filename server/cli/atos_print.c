#include "server/cli/atos_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "server/config/term.h"

static const char command[] = "atos";

static void
append_word(const struct slice_index *opened, const char *word, const struct atos_options *options,
            struct fz_buffer *out)
{
    atos_line(opened->index, fz_text_base_name(opened->slice->path), word, options, out);
}

/* The words of a stream; answered line by line, since another program may wait for each. Returns
 * the exit code. */
static int
print_words(const struct slice_index *opened, FILE *in, const struct atos_options *options)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    char *line = NULL, *rest = NULL;
    size_t room = 0;
    bool is_written = true;
    /* Until the reader is gone: further answers would not be read either. */
    while (is_written && getline(&line, &room, in) > 0) {
        fz_buffer_clear(&out);
        for (char *word = strtok_r(line, " \t\r\n", &rest); word;
             word = strtok_r(NULL, " \t\r\n", &rest))
            append_word(opened, word, options, &out);
        /* Each line at once: the other program may wait for it before it sends the next. */
        is_written = term_write(command, fz_buffer_cstr(&out), out.len);
    }
    free(line);
    return is_written ? 0 : 1;
}

int
atos_print(const struct slice_index *opened, const struct atos_options *options, const char *path,
           const char *const *addresses, size_t n_addresses)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    FILE *in = path ? fopen(path, "re") : NULL;
    struct fz_error err;
    int status = 0;
    /* Before any answer is printed, or a script would take the first lines for all. */
    if (path && !in) {
        fz_fail_errno(&err, "%s", path);
        return term_failed(command, &err);
    }
    if (in)
        status = print_words(opened, in, options);
    for (size_t i = 0; i < n_addresses; i++)
        append_word(opened, addresses[i], options, &out);
    if (status == 0 && !term_write(command, fz_buffer_cstr(&out), out.len))
        status = 1;
    if (!in && n_addresses == 0)
        status = print_words(opened, stdin, options);
    if (in)
        fclose(in);
    return status;
}
