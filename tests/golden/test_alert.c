/*
 * Golden tests of alerts: each folder alert/<case>/ holds an event, and what each channel gets.
 *
 *   event.json   an event -> stored.json (read, written), webhook.json, slack.json,
 *                mattermost.json, discord.json, teams.json, mail.txt (with \n in place of CR LF)
 *
 * test_alert FOLDER compares; test_alert --update FOLDER writes, for review by diff.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "server/alert/alert.h"

enum { FILE_MAX = 1 << 20, ARENA_CAP = 1 << 20, WEBHOOK_MAX = 20000 };

struct golden {
    const char *folder;
    bool update;
    int n_files, n_bad;
};

static const char *const to[] = {"ann@example.com", "bob@example.com"};
static const struct alert_sender sender = {
    .server = "https://crashes.example.com", .from = "alerts@example.com", .now_ms = 1795403111999};

static void
die(const struct golden *g, const char *what, const struct fz_error *err)
{
    fprintf(stderr, "%s: %s: %s\n", g->folder, what, err->text);
    exit(2);
}

static void
compare(struct golden *g, const char *name, struct fz_span got)
{
    char path[PATH_MAX];
    struct fz_error err;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer want = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer lines = fz_buffer_make(0);
    for (size_t i = 0; i < got.len; i++) {
        if (got.data[i] != '\r')
            fz_buffer_char(&lines, (char)got.data[i]);
    }
    if (lines.len == 0 || lines.data[lines.len - 1] != '\n')
        fz_buffer_char(&lines, '\n');
    snprintf(path, sizeof(path), "%s/%s", g->folder, name);
    g->n_files++;
    if (g->update) {
        if (fz_file_write_atomic(path, fz_buffer_span(&lines), 0644, &err) != FZ_OK)
            die(g, name, &err);
        return;
    }
    if (fz_file_read(path, FILE_MAX, &want, &err) != FZ_OK ||
        !fz_span_equal(fz_buffer_span(&lines), fz_buffer_span(&want))) {
        fprintf(stderr, "%s differs:\n%s\n", path, fz_buffer_cstr(&lines));
        g->n_bad++;
    }
}

static void
render(struct golden *g, const struct alert_event *event, enum alert_channel_kind kind)
{
    static const char secret[] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const struct alert_channel channel = {.kind = kind,
                                          .url = "https://hooks.example.com/x",
                                          .secrets = {secret},
                                          .n_secrets = 1,
                                          .to = to,
                                          .n_to = FZ_ARRAY_LEN(to)};
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_CAP);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer mail = fz_buffer_make(0);
    struct alert_message message;
    struct fz_error err;
    char name[64];
    snprintf(name, sizeof(name), "%s.%s", alert_channel_kind_name(kind),
             kind == ALERT_CHANNEL_MAIL ? "txt" : "json");
    if (alert_render(event, &channel, &sender, &arena, &message, &err) != FZ_OK ||
        (message.is_mail && net_mail_append(&message.mail, &mail, &err) != FZ_OK))
        die(g, name, &err);
    if (kind == ALERT_CHANNEL_WEBHOOK && message.request.body.len >= WEBHOOK_MAX) {
        fprintf(stderr, "%s/%s: %zu bytes\n", g->folder, name, message.request.body.len);
        g->n_bad++;
    }
    compare(g, name, message.is_mail ? fz_buffer_span(&mail) : message.request.body);
}

static void
run_case(struct golden *g)
{
    char path[PATH_MAX];
    struct alert_event event;
    struct fz_error err;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_CAP);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer in = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer again = fz_buffer_make(0);
    snprintf(path, sizeof(path), "%s/event.json", g->folder);
    if (fz_file_read(path, FILE_MAX, &in, &err) != FZ_OK ||
        alert_event_read(fz_buffer_span(&in), "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W", &arena, &event,
                         &err) != FZ_OK ||
        alert_event_write(&event, NULL, &again, &err) != FZ_OK)
        die(g, "event.json", &err);
    compare(g, "stored.json", fz_buffer_span(&again));
    for (int kind = 0; kind < ALERT_CHANNEL_N_KINDS; kind++)
        render(g, &event, (enum alert_channel_kind)kind);
}

int
main(int argc, char **argv)
{
    struct golden g = {.update = argc > 1 && strcmp(argv[1], "--update") == 0};
    const char *all = argc > 1 ? argv[argc - 1] : ".";
    DIR *dir = opendir(all);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char folder[PATH_MAX];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(folder, sizeof(folder), "%s/%s", all, entry->d_name);
        g.folder = folder;
        run_case(&g);
    }
    if (dir)
        closedir(dir);
    printf("%d files, %d differ\n", g.n_files, g.n_bad);
    return g.n_files == 0 || g.n_bad > 0;
}
