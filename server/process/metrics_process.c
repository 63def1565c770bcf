/* What Prometheus' client libraries report for every process, read from /proc. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "server/process/metrics.h"

static void
gauge(struct fz_buffer *out, const char *name, const char *type, const char *help, double value)
{
    fz_buffer_printf(out, "# HELP process_%s %s\n# TYPE process_%s %s\nprocess_%s %.15g\n", name,
                     help, name, type, name, value);
}

/* Unix time of the machine's start, in seconds; 0 if it is unknown. */
static double
boot_time(void)
{
    char line[256];
    double seconds = 0;
    /* start_time in /proc/self/stat counts from the machine's start. */
    FILE *file = fopen("/proc/stat", "re");
    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "btime %lf", &seconds) == 1)
            break;
    }
    if (file)
        fclose(file);
    return seconds;
}

static double
count_fds(void)
{
    DIR *folder = opendir("/proc/self/fd");
    double n = -1; /* the folder's own */
    const struct dirent *entry;
    if (!folder)
        return 0;
    while ((entry = readdir(folder)) != NULL)
        n += entry->d_name[0] != '.';
    closedir(folder);
    return n;
}

void
metrics_print_process(struct fz_buffer *out)
{
    char text[1024];
    FILE *file = fopen("/proc/self/stat", "re");
    size_t len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    text[len] = '\0';
    /* The second field is the name in brackets, which may hold anything; see proc(5). */
    const char *rest = strrchr(text, ')');
    unsigned long user_ticks = 0, system_ticks = 0, virtual_bytes = 0;
    unsigned long long start_ticks = 0;
    long threads = 0, resident_pages = 0;
    if (!rest || sscanf(rest,
                        ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %ld "
                        "%*d %llu %lu %ld",
                        &user_ticks, &system_ticks, &threads, &start_ticks, &virtual_bytes,
                        &resident_pages) != 6)
        return;
    double hertz = (double)sysconf(_SC_CLK_TCK);
    gauge(out, "cpu_seconds_total", "counter", "CPU time of the process, user and system.",
          (double)(user_ticks + system_ticks) / hertz);
    gauge(out, "resident_memory_bytes", "gauge", "Memory in use.",
          (double)resident_pages * (double)sysconf(_SC_PAGESIZE));
    gauge(out, "virtual_memory_bytes", "gauge", "Address space in use.", (double)virtual_bytes);
    gauge(out, "open_fds", "gauge", "Open descriptors.", count_fds());
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY)
        gauge(out, "max_fds", "gauge", "Descriptors that may be open.", (double)files.rlim_cur);
    gauge(out, "start_time_seconds", "gauge", "When the process started, Unix time.",
          boot_time() + (double)start_ticks / hertz);
    gauge(out, "threads", "gauge", "Threads of the process.", (double)threads);
}
