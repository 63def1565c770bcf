-- The id that a report came with, where another report has it: this one is stored under a new id.
ALTER TABLE reports ADD COLUMN claimed_id TEXT;
CREATE INDEX reports_claimed ON reports (project_id, claimed_id) WHERE claimed_id IS NOT NULL;
