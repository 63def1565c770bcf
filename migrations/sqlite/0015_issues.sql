-- Issues: what reports have in common. A stack has a key under the project's rules; a key and what
-- differs under it (signal, message, line) are a variant; an issue is a set of variants. Reports are
-- counted by variant, so merging and splitting issues moves no counts.

-- Every text that reports are selected by, once for each project and field (enum store_term).
CREATE TABLE terms (
    id         INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    field      INTEGER NOT NULL,
    text       TEXT    NOT NULL,
    detail     TEXT    NOT NULL DEFAULT '', -- the build of a version, the version of a system
    sort       BLOB, -- fz_version_key() of a version and build, or of a system's version
    UNIQUE (project_id, field, text, detail)
) STRICT;
CREATE INDEX terms_sort ON terms (project_id, field, sort) WHERE sort IS NOT NULL;
CREATE TABLE term_counts (
    project_id INTEGER NOT NULL REFERENCES projects (id),
    field      INTEGER NOT NULL,
    n          INTEGER NOT NULL,
    n_dropped  INTEGER NOT NULL DEFAULT 0, -- texts that came when the field was full
    PRIMARY KEY (project_id, field)
) STRICT, WITHOUT ROWID;
-- Any part of at least three characters of the texts that are searched in.
CREATE VIRTUAL TABLE term_texts USING fts5 (text, content = 'terms', content_rowid = 'id',
                                            tokenize = 'trigram');

ALTER TABLE projects ADD COLUMN last_issue INTEGER NOT NULL DEFAULT 0; -- the highest number
ALTER TABLE projects ADD COLUMN rules TEXT; -- of grouping; NULL = only the built-in ones
ALTER TABLE projects ADD COLUMN rules_version INTEGER NOT NULL DEFAULT 0;

CREATE TABLE issues (
    id             INTEGER PRIMARY KEY,
    project_id     INTEGER NOT NULL REFERENCES projects (id),
    number         INTEGER NOT NULL,
    title          TEXT    NOT NULL,
    title_is_ours  INTEGER NOT NULL DEFAULT 1, -- 0: a user has written it
    kind           TEXT    NOT NULL,
    state          INTEGER NOT NULL DEFAULT 0, -- enum store_issue_state
    is_regressed   INTEGER NOT NULL DEFAULT 0,
    is_placeholder INTEGER NOT NULL DEFAULT 0, -- its reports have no names yet
    merged_into    INTEGER REFERENCES issues (id),
    created_ms     INTEGER NOT NULL,
    first_ms       INTEGER NOT NULL,
    last_ms        INTEGER NOT NULL,
    n_reports      INTEGER NOT NULL DEFAULT 0,
    n_users        INTEGER NOT NULL DEFAULT 0,
    first_version  INTEGER, -- terms.id of the lowest and the highest version with a report
    last_version   INTEGER,
    first_sort     BLOB, -- their terms.sort
    last_sort      BLOB,
    assignee       TEXT,
    UNIQUE (project_id, number)
) STRICT;
CREATE INDEX issues_last ON issues (project_id, last_ms, id) WHERE merged_into IS NULL;
CREATE INDEX issues_first ON issues (project_id, first_ms, id) WHERE merged_into IS NULL;
CREATE INDEX issues_reports ON issues (project_id, n_reports, id) WHERE merged_into IS NULL;
CREATE INDEX issues_users ON issues (project_id, n_users, id) WHERE merged_into IS NULL;
CREATE INDEX issues_merged ON issues (merged_into) WHERE merged_into IS NOT NULL;

CREATE TABLE issue_keys (
    id             INTEGER PRIMARY KEY,
    project_id     INTEGER NOT NULL REFERENCES projects (id),
    sha256         BLOB    NOT NULL,
    issue_id       INTEGER NOT NULL REFERENCES issues (id), -- of its new variants
    title          TEXT    NOT NULL,
    is_placeholder INTEGER NOT NULL,
    UNIQUE (project_id, sha256)
) STRICT;
CREATE INDEX issue_keys_issue ON issue_keys (issue_id);

CREATE TABLE variants (
    id        INTEGER PRIMARY KEY,
    key_id    INTEGER NOT NULL REFERENCES issue_keys (id),
    sha256    BLOB    NOT NULL,
    issue_id  INTEGER NOT NULL REFERENCES issues (id), -- another one than its key's: split off
    label     TEXT    NOT NULL,
    n_reports INTEGER NOT NULL DEFAULT 0,
    first_ms  INTEGER NOT NULL,
    last_ms   INTEGER NOT NULL,
    UNIQUE (key_id, sha256)
) STRICT;
CREATE INDEX variants_issue ON variants (issue_id);

-- Distinct stacks, without addresses, lines and texts: all that a key depends on.
CREATE TABLE stacks (
    key        INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    sha256     BLOB    NOT NULL,
    key_id     INTEGER NOT NULL REFERENCES issue_keys (id), -- under the project's rules
    body       BLOB    NOT NULL, -- zstd
    UNIQUE (project_id, sha256)
) STRICT;
CREATE INDEX stacks_key ON stacks (key_id);
CREATE INDEX stacks_project ON stacks (project_id, key);
-- Its functions and files.
CREATE TABLE stack_terms (
    term_id   INTEGER NOT NULL,
    stack_key INTEGER NOT NULL,
    PRIMARY KEY (term_id, stack_key)
) STRICT, WITHOUT ROWID;

-- One narrow row for each report that was processed: what lists of issues and reports filter and
-- count. It outlives its report. 0 = unknown.
CREATE TABLE facts (
    project_id     INTEGER NOT NULL,
    received_ms    INTEGER NOT NULL,
    report_key     INTEGER NOT NULL, -- reports.key; negative: the report was deleted
    variant_id     INTEGER NOT NULL,
    user_id        INTEGER NOT NULL DEFAULT 0, -- terms.id, as all that follow
    version_id     INTEGER NOT NULL DEFAULT 0,
    os_id          INTEGER NOT NULL DEFAULT 0,
    device_id      INTEGER NOT NULL DEFAULT 0,
    arch_id        INTEGER NOT NULL DEFAULT 0,
    environment_id INTEGER NOT NULL DEFAULT 0,
    kind_id        INTEGER NOT NULL DEFAULT 0,
    app_id         INTEGER NOT NULL DEFAULT 0,
    exception_id   INTEGER NOT NULL DEFAULT 0,
    signal_id      INTEGER NOT NULL DEFAULT 0,
    reason_id      INTEGER NOT NULL DEFAULT 0,
    stack_key      INTEGER NOT NULL DEFAULT 0,
    status         INTEGER NOT NULL, -- enum store_report_status
    is_counted     INTEGER NOT NULL, -- 0: the same crash was counted with another report
    PRIMARY KEY (project_id, received_ms, report_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX facts_variant ON facts (variant_id, received_ms, version_id, os_id, device_id, user_id, is_counted);
CREATE INDEX facts_version ON facts (version_id, received_ms, variant_id, user_id, is_counted) WHERE version_id > 0;
CREATE INDEX facts_user ON facts (user_id, received_ms) WHERE user_id > 0;
CREATE INDEX facts_device ON facts (device_id, received_ms) WHERE device_id > 0;
CREATE INDEX facts_os ON facts (os_id, received_ms) WHERE os_id > 0;
CREATE INDEX facts_exception ON facts (exception_id, received_ms) WHERE exception_id > 0;
CREATE INDEX facts_reason ON facts (reason_id, received_ms) WHERE reason_id > 0;
CREATE INDEX facts_stack ON facts (stack_key, received_ms) WHERE stack_key > 0;
CREATE TABLE fact_tags (
    term_id     INTEGER NOT NULL, -- "name=value"
    received_ms INTEGER NOT NULL,
    report_key  INTEGER NOT NULL,
    project_id  INTEGER NOT NULL,
    PRIMARY KEY (term_id, received_ms, report_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX fact_tags_report ON fact_tags (report_key, received_ms);

-- Counts that stay when reports and facts are deleted. Each transaction that ends reports adds to
-- them, once for each row that it touches.
CREATE TABLE issue_hours (
    variant_id INTEGER NOT NULL,
    hour       INTEGER NOT NULL, -- received_ms / 3600000
    n          INTEGER NOT NULL,
    PRIMARY KEY (variant_id, hour)
) STRICT, WITHOUT ROWID;
CREATE TABLE issue_days (
    variant_id INTEGER NOT NULL,
    field      INTEGER NOT NULL, -- enum store_term
    term_id    INTEGER NOT NULL,
    day        INTEGER NOT NULL, -- received_ms / 86400000
    n          INTEGER NOT NULL,
    PRIMARY KEY (variant_id, field, term_id, day)
) STRICT, WITHOUT ROWID;
CREATE TABLE issue_users (
    issue_id INTEGER NOT NULL,
    user_id  INTEGER NOT NULL,
    n        INTEGER NOT NULL,
    PRIMARY KEY (issue_id, user_id)
) STRICT, WITHOUT ROWID;

-- Who did what to an issue, and what happened to it by itself.
CREATE TABLE issue_activity (
    id         INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL,
    issue_id   INTEGER NOT NULL REFERENCES issues (id),
    at_ms      INTEGER NOT NULL,
    actor      TEXT    NOT NULL, -- the label of a token, "framezero"
    kind       TEXT    NOT NULL,
    detail     TEXT    -- JSON
) STRICT;
CREATE INDEX issue_activity_issue ON issue_activity (issue_id, id);

-- A report whose result was stored before there were issues.
ALTER TABLE reports ADD COLUMN is_grouped INTEGER NOT NULL DEFAULT 0;
CREATE INDEX reports_ungrouped ON reports (project_id, key)
    WHERE is_grouped = 0 AND n_processed > 0 AND transient = 0;
