-- What a project may send a day; 0 = as much as the server's limits say.
ALTER TABLE projects ADD COLUMN quota_reports INTEGER NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN quota_report_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN quota_symbol_bytes INTEGER NOT NULL DEFAULT 0;
