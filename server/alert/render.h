/*
 * One renderer for each kind of channel: a document to the body that the channel's service takes.
 *
 * They append to `out`, whose failure is the only one. Each escapes every text of the document.
 */
#ifndef ALERT_RENDER_H
#define ALERT_RENDER_H

#include "base/json/write.h"
#include "server/alert/doc.h"
#include "server/alert/escape.h"

/* Slack: `text` for notifications, and blocks. */
void alert_render_slack(const struct alert_doc *doc, struct fz_buffer *out);
/* Mattermost: `text` in Markdown, since it ignores blocks. */
void alert_render_mattermost(const struct alert_doc *doc, struct fz_buffer *out);
/* Discord: one embed that mentions no one. `time_ms` is the event's. */
void alert_render_discord(const struct alert_doc *doc, int64_t time_ms, struct fz_buffer *out);
/* Teams Workflows: a message with one adaptive card. */
void alert_render_teams(const struct alert_doc *doc, struct fz_buffer *out);
/* The text of a mail. */
void alert_render_mail(const struct alert_doc *doc, const struct alert_event *event,
                       struct fz_buffer *out);

#endif
