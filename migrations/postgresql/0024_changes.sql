-- How much has changed in a project, ever: who watches it compares two readings. `slot` spreads the
-- writers, as in usage. The ids are those of the last ones that the slot has counted.
CREATE TABLE project_changes (
    project_id   bigint NOT NULL REFERENCES projects (id),
    slot         bigint NOT NULL,
    n_received   bigint NOT NULL, -- reports
    n_reports    bigint NOT NULL, -- finished, failed, queued again, deleted
    n_issues     bigint NOT NULL, -- with further reports, changed by people
    n_new_issues bigint NOT NULL,
    n_uploads    bigint NOT NULL, -- finished, failed
    n_unblocked  bigint NOT NULL, -- reports that were queued again by those
    n_symbols    bigint NOT NULL, -- symbol files came or went
    received     text COLLATE "C",
    report       text COLLATE "C",
    issue_id     bigint,
    new_issue_id bigint,
    upload       text COLLATE "C",
    PRIMARY KEY (project_id, slot)
) WITH (fillfactor = 50); -- updated in place
