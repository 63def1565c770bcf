-- Texts of reports are masked before anything of them is stored.
ALTER TABLE projects ADD COLUMN scrub INTEGER NOT NULL DEFAULT 1;
-- Kinds that are turned off and on, and patterns; one a line.
ALTER TABLE projects ADD COLUMN scrub_rules TEXT;
-- 1: something of the report was masked, so its body shows more than its result.
ALTER TABLE reports ADD COLUMN scrubbed INTEGER NOT NULL DEFAULT 0;
