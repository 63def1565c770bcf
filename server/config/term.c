#include "server/config/term.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool
term_has_colour(int fd)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fd) && !(no_color && *no_color) && term && *term && strcmp(term, "dumb") != 0;
}

const char *
term_style(bool has_colour, enum term_style style)
{
    static const char *const sequences[] = {"\033[0m", "\033[1m", "\033[1;31m", "\033[1;33m"};
    return has_colour ? sequences[style] : "";
}

/* One call of fprintf() per message, so that those of several processes do not mix. */
FZ_PRINTF(4, 0)
static void
say(const char *command, enum term_style style, const char *kind, const char *fmt, va_list args)
{
    char text[4096];
    /* Standard output may be a pipe while messages go to the terminal. */
    bool has_colour = term_has_colour(STDERR_FILENO);
    vsnprintf(text, sizeof(text), fmt, args);
    fprintf(stderr, "%sframezero%s%s:%s %s%s\n", term_style(has_colour, style), *command ? " " : "",
            command, term_style(has_colour, TERM_PLAIN), kind, text);
}

void
term_error(const char *command, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(command, TERM_ERROR, "", fmt, args);
    va_end(args);
}

void
term_warn(const char *command, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(command, TERM_WARNING, "warning: ", fmt, args);
    va_end(args);
}

int
term_wrong_usage(const char *command, const struct fz_error *err)
{
    size_t len = strlen(err->text);
    /* After a question mark a new sentence begins. */
    bool is_question = len > 0 && err->text[len - 1] == '?';
    term_error(command, "%s%s 'framezero %s%s--help'", err->text, is_question ? " See" : "; see",
               command, *command ? " " : "");
    return 2;
}

int
term_failed(const char *command, const struct fz_error *err)
{
    term_error(command, "%s", err->text);
    return 1;
}

bool
term_write(const char *command, const char *text, size_t len)
{
    bool is_whole = fwrite(text, 1, len, stdout) == len && fflush(stdout) == 0;
    /* EPIPE: the reader has what it wanted, as head after its last line. */
    if (!is_whole && errno != EPIPE)
        term_error(command, "cannot write to standard output: %s", strerror(errno));
    if (!is_whole)
        clearerr(stdout); /* it has been reported */
    return is_whole;
}

bool
term_finish_output(const char *command)
{
    bool is_bad = ferror(stdout) != 0;
    /* errno is that of the flush: an earlier write has left none. */
    if (fflush(stdout) != 0)
        is_bad = true;
    else if (is_bad)
        errno = 0; /* an earlier write failed; its reason is gone */
    if (is_bad && errno != EPIPE)
        term_error(command, "cannot write to standard output%s%s", errno ? ": " : "",
                   errno ? strerror(errno) : "");
    return !is_bad;
}
