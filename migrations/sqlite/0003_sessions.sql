-- Runs of an app as its SDK tells of them, for crash-free rates, and what an SDK threw away.
-- day_ms: the start of the day (UTC) on which the run began.

-- Single runs are kept only as long as an update of them may come; what counts are the counts.
CREATE TABLE sessions (
    project_id  INTEGER NOT NULL REFERENCES projects (id),
    sid         TEXT    NOT NULL,
    day_ms      INTEGER NOT NULL,
    release     TEXT    NOT NULL,
    environment TEXT    NOT NULL,
    outcome     INTEGER NOT NULL, -- enum store_session_outcome
    seen_ms     INTEGER NOT NULL,
    PRIMARY KEY (project_id, sid)
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_seen ON sessions (seen_ms);

CREATE TABLE session_counts (
    project_id  INTEGER NOT NULL REFERENCES projects (id),
    day_ms      INTEGER NOT NULL,
    release     TEXT    NOT NULL,
    environment TEXT    NOT NULL,
    healthy     INTEGER NOT NULL DEFAULT 0,
    errored     INTEGER NOT NULL DEFAULT 0,
    abnormal    INTEGER NOT NULL DEFAULT 0,
    crashed     INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (project_id, day_ms, release, environment)
) STRICT, WITHOUT ROWID;

CREATE TABLE discarded_counts (
    project_id INTEGER NOT NULL REFERENCES projects (id),
    day_ms     INTEGER NOT NULL,
    reason     TEXT    NOT NULL,
    category   TEXT    NOT NULL,
    n          INTEGER NOT NULL,
    PRIMARY KEY (project_id, day_ms, reason, category)
) STRICT, WITHOUT ROWID;
