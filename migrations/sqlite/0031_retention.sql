-- How long a project keeps what was sent. Projects that are there already keep everything until somebody
-- sets a limit; new ones get limits when they are made.
CREATE TABLE retention (
    project_id    INTEGER PRIMARY KEY REFERENCES projects (id),
    report_days   INTEGER NOT NULL DEFAULT 0, -- 0 = no limit, as in all that follow
    report_max    INTEGER NOT NULL DEFAULT 0,
    body_days     INTEGER NOT NULL DEFAULT 0,
    symbol_days   INTEGER NOT NULL DEFAULT 0, -- that no stored report has needed the file
    bytes_max     INTEGER NOT NULL DEFAULT 0,
    keeps_samples INTEGER NOT NULL DEFAULT 1, -- a few reports of each issue outlast report_days
    version       INTEGER NOT NULL DEFAULT 0, -- grows with each change
    swept_ms      INTEGER NOT NULL DEFAULT 0, -- when a sweep was complete last, and for which version
    swept_version INTEGER NOT NULL DEFAULT 0,
    held_ms       INTEGER NOT NULL DEFAULT 0, -- since when a sweep waits for somebody to confirm it
    held_n        INTEGER NOT NULL DEFAULT 0, -- what it would delete
    allowed       INTEGER NOT NULL DEFAULT 0  -- how much somebody has confirmed
) STRICT;
INSERT INTO retention (project_id) SELECT id FROM projects;

-- When a stored report has needed the file last; of one that is needed now, the sets of images say so.
ALTER TABLE symbol_files ADD COLUMN used_ms INTEGER NOT NULL DEFAULT 0;
-- 0: the body was deleted, so the report cannot be processed again.
ALTER TABLE reports ADD COLUMN has_body INTEGER NOT NULL DEFAULT 1;
