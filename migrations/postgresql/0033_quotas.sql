-- What a project may send a day; 0 = as much as the server's limits say.
ALTER TABLE projects ADD COLUMN quota_reports bigint NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN quota_report_bytes bigint NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN quota_symbol_bytes bigint NOT NULL DEFAULT 0;
