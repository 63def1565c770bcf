-- A crash that arrives in several reports, which have one run id, is counted once.
ALTER TABLE reports ADD COLUMN run_id TEXT;
-- 1: the run ended with it; reports with one run_id and 1 are one crash.
ALTER TABLE reports ADD COLUMN ends_run INTEGER NOT NULL DEFAULT 0;
-- The id of the report of the same crash that is counted; NULL: this one is.
ALTER TABLE reports ADD COLUMN same_as TEXT;
CREATE INDEX reports_run ON reports (project_id, run_id) WHERE run_id IS NOT NULL;
CREATE INDEX reports_same ON reports (project_id, same_as) WHERE same_as IS NOT NULL;
