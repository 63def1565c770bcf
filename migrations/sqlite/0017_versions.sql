-- What is known of each version of an app: reports and users of each day, users of sessions.
-- Users are counted by HyperLogLog (base/hll.h), which keeps nothing of them.

CREATE TABLE versions (
    version_id INTEGER PRIMARY KEY, -- terms.id
    project_id INTEGER NOT NULL REFERENCES projects (id),
    first_ms   INTEGER NOT NULL, -- a report came, or a run began
    last_ms    INTEGER NOT NULL,
    n_reports  INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX versions_project ON versions (project_id, version_id);
CREATE TABLE version_days (
    key            INTEGER PRIMARY KEY,
    project_id     INTEGER NOT NULL,
    day            INTEGER NOT NULL, -- received_ms / 86400000
    version_id     INTEGER NOT NULL, -- terms.id
    environment_id INTEGER NOT NULL, -- terms.id, 0 = unknown
    n              INTEGER NOT NULL,
    users          BLOB    NOT NULL,
    UNIQUE (project_id, day, version_id, environment_id)
) STRICT;
INSERT INTO versions (version_id, project_id, first_ms, last_ms, n_reports)
    SELECT version_id, project_id, min(received_ms), max(received_ms), sum(is_counted) FROM facts
    WHERE version_id > 0 GROUP BY version_id, project_id;
INSERT INTO version_days (project_id, day, version_id, environment_id, n, users)
    SELECT project_id, received_ms / 86400000, version_id, environment_id, count(*), x'' FROM facts
    WHERE version_id > 0 AND is_counted = 1
    GROUP BY project_id, received_ms / 86400000, version_id, environment_id;

-- As session_counts, by the day on which the run began.
CREATE TABLE session_users (
    key         INTEGER PRIMARY KEY,
    project_id  INTEGER NOT NULL REFERENCES projects (id),
    day_ms      INTEGER NOT NULL,
    release     TEXT    NOT NULL,
    environment TEXT    NOT NULL,
    users       BLOB    NOT NULL,
    crashed     BLOB    NOT NULL, -- users with a run that crashed
    UNIQUE (project_id, day_ms, release, environment)
) STRICT;
-- The same by hour, kept for a day: who uses which version now.
CREATE TABLE session_hours (
    key         INTEGER PRIMARY KEY,
    project_id  INTEGER NOT NULL REFERENCES projects (id),
    hour_ms     INTEGER NOT NULL,
    release     TEXT    NOT NULL,
    environment TEXT    NOT NULL,
    n           INTEGER NOT NULL,
    users       BLOB    NOT NULL,
    UNIQUE (project_id, hour_ms, release, environment)
) STRICT;

CREATE INDEX issues_first_version ON issues (project_id, first_version) WHERE merged_into IS NULL;
CREATE INDEX issue_activity_regressed ON issue_activity (project_id, id) WHERE kind = 'regressed';
