-- Runs of an app as its SDK tells of them, for crash-free rates, and what an SDK threw away.
-- day_ms: the start of the day (UTC) on which the run began.

-- Single runs are kept only as long as an update of them may come; what counts are the counts.
CREATE TABLE sessions (
    project_id  bigint           NOT NULL REFERENCES projects (id),
    sid         text COLLATE "C" NOT NULL,
    day_ms      bigint           NOT NULL,
    release     text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL,
    outcome     bigint           NOT NULL, -- enum store_session_outcome
    seen_ms     bigint           NOT NULL,
    PRIMARY KEY (project_id, sid)
);
CREATE INDEX sessions_seen ON sessions (seen_ms);

CREATE TABLE session_counts (
    project_id  bigint           NOT NULL REFERENCES projects (id),
    day_ms      bigint           NOT NULL,
    release     text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL,
    healthy     bigint           NOT NULL DEFAULT 0,
    errored     bigint           NOT NULL DEFAULT 0,
    abnormal    bigint           NOT NULL DEFAULT 0,
    crashed     bigint           NOT NULL DEFAULT 0,
    PRIMARY KEY (project_id, day_ms, release, environment)
);

CREATE TABLE discarded_counts (
    project_id bigint           NOT NULL REFERENCES projects (id),
    day_ms     bigint           NOT NULL,
    reason     text COLLATE "C" NOT NULL,
    category   text COLLATE "C" NOT NULL,
    n          bigint           NOT NULL,
    PRIMARY KEY (project_id, day_ms, reason, category)
);
