#include "base/log.h"

#include "base/platform.h"
#include "base/text.h"
#include "base/time.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 1000, PIPE_BYTES = 1024 * 1024 };

static _Atomic int lowest_level = FZ_LOG_INFO;

void
fz_log_set_level(enum fz_log_level level)
{
    atomic_store(&lowest_level, (int)level);
}

/* ---- standard error, without waiting for whoever reads it ------------------------------------ */

/* Whoever reads the log may stop reading, and then a write to a pipe waits for ever. O_NONBLOCK on
 * descriptor 2 itself would also change it for the shell and for every other process that has the
 * same pipe or terminal: a pipe or terminal is opened a second time instead. */
enum sink_kind {
    SINK_UNKNOWN,
    SINK_FILE,   /* waits for its disk only */
    SINK_OWN,    /* opened again, with O_NONBLOCK */
    SINK_SOCKET, /* journald */
    SINK_POLLED, /* could not be opened again */
};

static struct sink {
    pthread_mutex_t lock;
    enum sink_kind kind;
    int fd;
    uint64_t n_dropped;
    size_t n_rest; /* of a line of which only a part was written */
    char rest[LINE_MAX_BYTES + 2];
} sink = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void
open_sink(void)
{
    struct stat st;
    sink.fd = STDERR_FILENO;
    sink.kind = SINK_FILE;
    if (fstat(STDERR_FILENO, &st) != 0)
        return;
    /* A socket cannot be opened through /proc; MSG_DONTWAIT does the same. */
    if (S_ISSOCK(st.st_mode))
        sink.kind = SINK_SOCKET;
    if (!S_ISFIFO(st.st_mode) && !isatty(STDERR_FILENO))
        return;
    /* With room for a few thousand lines while the reader is busy. */
    int fd = fz_platform_open_again(STDERR_FILENO, PIPE_BYTES);
    sink.kind = fd >= 0 ? SINK_OWN : SINK_POLLED;
    if (fd >= 0)
        sink.fd = fd;
}

/* As write(), at once. */
static ssize_t
put_some(const char *bytes, size_t len)
{
    if (sink.kind == SINK_SOCKET)
        return send(sink.fd, bytes, len, MSG_DONTWAIT);
    struct pollfd poll_fd = {.fd = sink.fd, .events = POLLOUT};
    if (sink.kind == SINK_POLLED && poll(&poll_fd, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
    }
    return write(sink.fd, bytes, len);
}

/* Returns how many bytes were written: all, or as many as there was room for. */
static size_t
put(const char *bytes, size_t len)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = put_some(bytes + done, len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    return done;
}

/* The processes of a server share one file. What one of them has begun while the disk was full, another would continue as
 * soon as there is room, so the part of a line at the file's end is taken back. */
static bool
take_back(size_t n_bytes)
{
    struct stat st;
    off_t end = lseek(sink.fd, 0, SEEK_CUR);
    if (sink.kind != SINK_FILE || end < (off_t)n_bytes || fstat(sink.fd, &st) != 0 ||
        !S_ISREG(st.st_mode) || st.st_size != end)
        return false;
    /* The position, too: a file that was not opened for appending would get a hole. */
    return ftruncate(sink.fd, end - (off_t)n_bytes) == 0 &&
           lseek(sink.fd, -(off_t)n_bytes, SEEK_CUR) >= 0;
}

/* A line is written whole, or begun and ended later, or not at all (false). In a file another process may have written after
 * its beginning before that could be taken back: its end, written later, would be a line without a beginning. */
static bool
put_line(const char *line, size_t len)
{
    /* The rest of a line comes before anything else, or two lines would mix. */
    if (sink.n_rest) {
        size_t done = put(sink.rest, sink.n_rest);
        memmove(sink.rest, sink.rest + done, sink.n_rest - done);
        sink.n_rest -= done;
        if (sink.n_rest)
            return false;
    }
    size_t done = put(line, len);
    if (done == 0 || (done < len && (take_back(done) || sink.kind == SINK_FILE)))
        return false;
    memcpy(sink.rest, line + done, len - done);
    sink.n_rest = len - done;
    return true;
}

/* ---- lines -------------------------------------------------------------------------------- */

static const char *const level_names[] = {"debug", "info", "warn", "error"};

FZ_PRINTF(4, 0)
static size_t
format_line(char line[LINE_MAX_BYTES + 2], enum fz_log_level level, const char *msg,
            const char *fmt, va_list args)
{
    char stamp[FZ_TIME_TEXT];
    fz_time_format(fz_time_now_ms(), stamp);
    int head = snprintf(line, LINE_MAX_BYTES, "ts=%s level=%s msg=\"%s\" ", stamp,
                        level_names[level], msg);
    size_t len = head < 0 ? 0 : head < LINE_MAX_BYTES ? (size_t)head : LINE_MAX_BYTES - 1;
    char text[LINE_MAX_BYTES];
    fz_ignore(vsnprintf(text, sizeof(text), fmt, args) < 0);
    /* Values come from clients: a line break in one could forge a line of the log. */
    len += fz_text_visible(fz_span_cstr(text), line + len, LINE_MAX_BYTES - len);
    /* The blank before an empty list of keys. */
    while (len && line[len - 1] == ' ')
        len--;
    line[len++] = '\n';
    return len;
}

/* Before the first line that there is room for again. */
FZ_PRINTF(1, 2)
static bool
put_dropped(const char *fmt, ...)
{
    char line[LINE_MAX_BYTES + 2];
    va_list args;
    va_start(args, fmt);
    size_t len = format_line(line, FZ_LOG_WARN, "log lines dropped", fmt, args);
    va_end(args);
    return put_line(line, len);
}

void
fz_log(enum fz_log_level level, const char *msg, const char *fmt, ...)
{
    if ((int)level < atomic_load(&lowest_level))
        return;
    char line[LINE_MAX_BYTES + 2];
    va_list args;
    va_start(args, fmt);
    size_t len = format_line(line, level, msg, fmt, args);
    va_end(args);
    pthread_mutex_lock(&sink.lock);
    if (sink.kind == SINK_UNKNOWN)
        open_sink();
    if (sink.n_dropped && put_dropped("n=%llu", (unsigned long long)sink.n_dropped))
        sink.n_dropped = 0;
    if (sink.n_dropped || !put_line(line, len))
        sink.n_dropped++;
    pthread_mutex_unlock(&sink.lock);
}

const char *
fz_log_quote(const char *text, char *ret, unsigned size)
{
    unsigned at = 0;
    if (size < 3)
        return "";
    ret[at++] = '"';
    /* Room for an escape, the closing quote and the NUL. */
    for (; *text && at + 3 < size; text++) {
        if (*text == '"' || *text == '\\')
            ret[at++] = '\\';
        ret[at++] = *text;
    }
    ret[at++] = '"';
    ret[at] = '\0';
    return ret;
}
