-- What people do with issues, and the history of a project's rules of grouping.

-- When the state was set by hand, and until when an ignored issue stays so: the first condition that
-- is met ends it. Without one it stays ignored.
ALTER TABLE issues ADD COLUMN state_ms bigint NOT NULL DEFAULT 0;
ALTER TABLE issues ADD COLUMN ignore_until_ms bigint;
ALTER TABLE issues ADD COLUMN ignore_reports bigint; -- when n_reports is that high
ALTER TABLE issues ADD COLUMN ignore_users bigint;   -- when n_users is
ALTER TABLE issues ADD COLUMN ignore_version text COLLATE "C";    -- when a report is of a version above it
ALTER TABLE issues ADD COLUMN ignore_build text COLLATE "C";
CREATE INDEX issues_ignored ON issues (ignore_until_ms) WHERE ignore_until_ms IS NOT NULL;

-- Where resolved issues are fixed, one row for each branch; none: every later report is a regression.
CREATE TABLE issue_fixes (
    issue_id bigint NOT NULL REFERENCES issues (id),
    version text COLLATE "C" NOT NULL,
    build text COLLATE "C" NOT NULL,
    is_after bigint NOT NULL, -- 1: not in this version, but in all above it
    newest text COLLATE "C" NOT NULL, -- the highest version then
    newest_build text COLLATE "C" NOT NULL,
    PRIMARY KEY (issue_id, version, build, is_after)
);

-- Every text of rules that a project had, by projects.rules_version.
CREATE TABLE grouping_versions (
    project_id bigint NOT NULL REFERENCES projects (id),
    version bigint NOT NULL,
    rules text COLLATE "C",
    actor text COLLATE "C" NOT NULL,
    at_ms bigint NOT NULL,
    undoes bigint, -- the version that this one takes back
    is_undone bigint NOT NULL DEFAULT 0,
    n_merged bigint NOT NULL, -- issues that became part of others
    n_split bigint NOT NULL,
    PRIMARY KEY (project_id, version)
);
-- The issues that it changed, as they were before.
CREATE TABLE grouping_issues (
    project_id bigint NOT NULL,
    version bigint NOT NULL,
    issue_id bigint NOT NULL,
    title text COLLATE "C" NOT NULL,
    is_placeholder bigint NOT NULL,
    merged_into bigint,
    PRIMARY KEY (project_id, version, issue_id)
);
