-- What a project shows and keeps of captured memory; nothing until it is turned on.
ALTER TABLE projects ADD COLUMN show_values INTEGER NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN keep_memory INTEGER NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN memory_days INTEGER NOT NULL DEFAULT 14;
-- Which variables are redacted besides the defaults, and which are not; one entry a line.
ALTER TABLE projects ADD COLUMN redact_allow TEXT;
ALTER TABLE projects ADD COLUMN redact_deny TEXT;

-- Of the body: 0 not known yet; 1 it has no captured memory; 2 its memory was removed.
ALTER TABLE reports ADD COLUMN memory INTEGER NOT NULL DEFAULT 0;

-- Bodies as they were sent, with memory, of projects that keep it for a time.
CREATE TABLE report_memory (
    report_key INTEGER PRIMARY KEY REFERENCES reports (key) ON DELETE CASCADE,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    stored_ms  INTEGER NOT NULL,
    body       BLOB    NOT NULL
) STRICT;
CREATE INDEX report_memory_oldest ON report_memory (project_id, stored_ms);
