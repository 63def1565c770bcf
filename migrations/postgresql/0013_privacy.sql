-- What a project shows and keeps of captured memory; nothing until it is turned on.
ALTER TABLE projects ADD COLUMN show_values bigint NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN keep_memory bigint NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN memory_days bigint NOT NULL DEFAULT 14;
-- Which variables are redacted besides the defaults, and which are not; one entry a line.
ALTER TABLE projects ADD COLUMN redact_allow text COLLATE "C";
ALTER TABLE projects ADD COLUMN redact_deny text COLLATE "C";

-- Of the body: 0 not known yet; 1 it has no captured memory; 2 its memory was removed.
ALTER TABLE reports ADD COLUMN memory bigint NOT NULL DEFAULT 0;

-- Bodies as they were sent, with memory, of projects that keep it for a time.
CREATE TABLE report_memory (
    report_key bigint PRIMARY KEY REFERENCES reports (key) ON DELETE CASCADE,
    project_id bigint NOT NULL REFERENCES projects (id),
    stored_ms  bigint NOT NULL,
    body       bytea  NOT NULL
);
CREATE INDEX report_memory_oldest ON report_memory (project_id, stored_ms);
