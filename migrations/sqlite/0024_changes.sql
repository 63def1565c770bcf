-- How much has changed in a project, ever: who watches it compares two readings. `slot` spreads the
-- writers, as in usage. The ids are those of the last ones that the slot has counted.
CREATE TABLE project_changes (
    project_id   INTEGER NOT NULL REFERENCES projects (id),
    slot         INTEGER NOT NULL,
    n_received   INTEGER NOT NULL, -- reports
    n_reports    INTEGER NOT NULL, -- finished, failed, queued again, deleted
    n_issues     INTEGER NOT NULL, -- with further reports, changed by people
    n_new_issues INTEGER NOT NULL,
    n_uploads    INTEGER NOT NULL, -- finished, failed
    n_unblocked  INTEGER NOT NULL, -- reports that were queued again by those
    n_symbols    INTEGER NOT NULL, -- symbol files came or went
    received     TEXT,
    report       TEXT,
    issue_id     INTEGER,
    new_issue_id INTEGER,
    upload       TEXT,
    PRIMARY KEY (project_id, slot)
) STRICT, WITHOUT ROWID;
