-- What people do with issues, and the history of a project's rules of grouping.

-- When the state was set by hand, and until when an ignored issue stays so: the first condition that
-- is met ends it. Without one it stays ignored.
ALTER TABLE issues ADD COLUMN state_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE issues ADD COLUMN ignore_until_ms INTEGER;
ALTER TABLE issues ADD COLUMN ignore_reports INTEGER; -- when n_reports is that high
ALTER TABLE issues ADD COLUMN ignore_users INTEGER;   -- when n_users is
ALTER TABLE issues ADD COLUMN ignore_version TEXT;    -- when a report is of a version above it
ALTER TABLE issues ADD COLUMN ignore_build TEXT;
CREATE INDEX issues_ignored ON issues (ignore_until_ms) WHERE ignore_until_ms IS NOT NULL;

-- Where resolved issues are fixed, one row for each branch; none: every later report is a regression.
CREATE TABLE issue_fixes (
    issue_id     INTEGER NOT NULL REFERENCES issues (id),
    version      TEXT    NOT NULL,
    build        TEXT    NOT NULL,
    is_after     INTEGER NOT NULL, -- 1: not in this version, but in all above it
    newest       TEXT    NOT NULL, -- the highest version then
    newest_build TEXT    NOT NULL,
    PRIMARY KEY (issue_id, version, build, is_after)
) STRICT, WITHOUT ROWID;

-- Every text of rules that a project had, by projects.rules_version.
CREATE TABLE grouping_versions (
    project_id INTEGER NOT NULL REFERENCES projects (id),
    version    INTEGER NOT NULL,
    rules      TEXT,
    actor      TEXT    NOT NULL,
    at_ms      INTEGER NOT NULL,
    undoes     INTEGER, -- the version that this one takes back
    is_undone  INTEGER NOT NULL DEFAULT 0,
    n_merged   INTEGER NOT NULL, -- issues that became part of others
    n_split    INTEGER NOT NULL,
    PRIMARY KEY (project_id, version)
) STRICT, WITHOUT ROWID;
-- The issues that it changed, as they were before.
CREATE TABLE grouping_issues (
    project_id     INTEGER NOT NULL,
    version        INTEGER NOT NULL,
    issue_id       INTEGER NOT NULL,
    title          TEXT    NOT NULL,
    is_placeholder INTEGER NOT NULL,
    merged_into    INTEGER,
    PRIMARY KEY (project_id, version, issue_id)
) STRICT, WITHOUT ROWID;
