-- Alerts: channels, what happened (the outbox), and what was sent of it.

CREATE TABLE channels (
    id             INTEGER PRIMARY KEY,
    project_id     INTEGER NOT NULL REFERENCES projects (id),
    name           TEXT    NOT NULL,
    kind           TEXT    NOT NULL, -- "webhook", "mail"...
    target         TEXT    NOT NULL, -- a URL; of mail, addresses, one a line
    secret         TEXT,             -- of a webhook
    old_secret     TEXT,             -- the one before, which counts until old_until_ms
    old_until_ms   INTEGER NOT NULL DEFAULT 0,
    filter         TEXT    NOT NULL DEFAULT '', -- in the query language
    events         INTEGER NOT NULL, -- 1 << enum store_event_kind
    per_hour       INTEGER NOT NULL, -- of the guard against storms
    digest_s       INTEGER NOT NULL,
    created_ms     INTEGER NOT NULL,
    is_enabled     INTEGER NOT NULL DEFAULT 1,
    why_disabled   TEXT,
    free_at_ms     INTEGER NOT NULL DEFAULT 0, -- state of the guard
    held_since_ms  INTEGER NOT NULL DEFAULT 0,
    from_ms        INTEGER NOT NULL DEFAULT 0, -- nothing is sent before
    n_failed       INTEGER NOT NULL DEFAULT 0, -- attempts in succession
    failing_ms     INTEGER NOT NULL DEFAULT 0, -- since when; 0 = the last attempt succeeded
    delivered_ms   INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX channels_project ON channels (project_id, id);
CREATE INDEX channels_held ON channels (held_since_ms) WHERE held_since_ms > 0;

-- Written in the transaction that causes it.
CREATE TABLE events (
    id         INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    kind       INTEGER NOT NULL, -- enum store_event_kind
    message    TEXT    NOT NULL, -- the id that receivers see, "msg_..."
    at_ms      INTEGER NOT NULL,
    due_ms     INTEGER NOT NULL, -- not given to channels before
    is_done    INTEGER NOT NULL DEFAULT 0, -- it was
    issue_id   INTEGER, -- that it is about
    channel_id INTEGER, -- not for this channel, which it is about; of digest and test: only for it
    version    TEXT,
    detail     TEXT,
    body       TEXT -- JSON; NULL = it is made of the issue once it is due
) STRICT;
CREATE INDEX events_due ON events (due_ms) WHERE is_done = 0;
CREATE INDEX events_issue ON events (issue_id) WHERE is_done = 0;
CREATE INDEX events_done ON events (id) WHERE is_done = 1;

-- What is reported once only: "missing:UUID", "urgent:ISSUE:VERSION".
CREATE TABLE event_marks (
    project_id INTEGER NOT NULL REFERENCES projects (id),
    mark       TEXT    NOT NULL,
    at_ms      INTEGER NOT NULL,
    PRIMARY KEY (project_id, mark)
) STRICT, WITHOUT ROWID;

CREATE TABLE deliveries (
    id         INTEGER PRIMARY KEY,
    channel_id INTEGER NOT NULL REFERENCES channels (id),
    event_id   INTEGER NOT NULL REFERENCES events (id),
    state      INTEGER NOT NULL, -- enum store_delivery_state
    due_ms     INTEGER NOT NULL, -- of the next attempt; of a lease, its end
    fence      INTEGER NOT NULL DEFAULT 0,
    n_attempts INTEGER NOT NULL DEFAULT 0,
    n_before   INTEGER NOT NULL DEFAULT 0, -- attempts before it was sent again
    created_ms INTEGER NOT NULL,
    ended_ms   INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX deliveries_due ON deliveries (due_ms) WHERE state < 2; -- waiting or leased
CREATE INDEX deliveries_leased ON deliveries (channel_id) WHERE state = 1;
CREATE INDEX deliveries_held ON deliveries (channel_id, id) WHERE state = 2;
CREATE INDEX deliveries_channel ON deliveries (channel_id, id);
CREATE INDEX deliveries_event ON deliveries (event_id);

CREATE TABLE delivery_attempts (
    delivery_id INTEGER NOT NULL REFERENCES deliveries (id),
    n           INTEGER NOT NULL,
    at_ms       INTEGER NOT NULL,
    took_ms     INTEGER NOT NULL,
    result      TEXT    NOT NULL, -- "answered", "refused"...
    status      INTEGER NOT NULL, -- 0 = no answer
    error       TEXT    NOT NULL,
    answer      TEXT    NOT NULL,
    PRIMARY KEY (delivery_id, n)
) STRICT, WITHOUT ROWID;

-- What one worker does for all: who does it, and when it is due again.
CREATE TABLE duties (
    name     TEXT    PRIMARY KEY,
    until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Sums of today's and yesterday's sessions, taken every few minutes, for how many there were lately.
CREATE TABLE session_samples (
    project_id INTEGER NOT NULL REFERENCES projects (id),
    at_ms      INTEGER NOT NULL,
    n          INTEGER NOT NULL,
    n_crashed  INTEGER NOT NULL,
    PRIMARY KEY (project_id, at_ms)
) STRICT, WITHOUT ROWID;

-- When an issue is urgent, and a release unhealthy.
ALTER TABLE projects ADD COLUMN urgent_ppm INTEGER NOT NULL DEFAULT 10000; -- of sessions
ALTER TABLE projects ADD COLUMN urgent_users INTEGER NOT NULL DEFAULT 25;
ALTER TABLE projects ADD COLUMN urgent_window_s INTEGER NOT NULL DEFAULT 1800;
ALTER TABLE projects ADD COLUMN healthy_ppm INTEGER NOT NULL DEFAULT 990000; -- crash-free sessions
ALTER TABLE projects ADD COLUMN healthy_sessions INTEGER NOT NULL DEFAULT 100; -- at least

-- What filters of alerts look at, of one stack.
CREATE INDEX stack_terms_stack ON stack_terms (stack_key);
