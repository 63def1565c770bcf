-- What lists of reports show and are filtered by. A report that was done before has them after its next reprocessing.
ALTER TABLE reports ADD COLUMN kind TEXT;
ALTER TABLE reports ADD COLUMN os_build TEXT;
ALTER TABLE reports ADD COLUMN mach TEXT;
ALTER TABLE reports ADD COLUMN code TEXT;
ALTER TABLE reports ADD COLUMN environment TEXT;
ALTER TABLE reports ADD COLUMN release TEXT;
ALTER TABLE reports ADD COLUMN user_id TEXT;
ALTER TABLE reports ADD COLUMN tags TEXT; -- a line "name=value" for each, framed by line breaks
ALTER TABLE image_set_items ADD COLUMN name TEXT;
CREATE INDEX image_set_items_name ON image_set_items (project_id, name) WHERE name IS NOT NULL;
CREATE INDEX reports_crashed ON reports (project_id, timestamp_ms, id) WHERE transient = 0;
