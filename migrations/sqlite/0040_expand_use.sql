-- What a project stored when a sweep of retention looked last: counting millions of reports takes longer than a request may.
ALTER TABLE retention ADD COLUMN counted_ms INTEGER NOT NULL DEFAULT 0; -- 0 = no sweep has looked yet
ALTER TABLE retention ADD COLUMN n_reports INTEGER NOT NULL DEFAULT 0;
ALTER TABLE retention ADD COLUMN n_bodies INTEGER NOT NULL DEFAULT 0;
ALTER TABLE retention ADD COLUMN body_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE retention ADD COLUMN n_results INTEGER NOT NULL DEFAULT 0;
ALTER TABLE retention ADD COLUMN result_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE retention ADD COLUMN n_memory INTEGER NOT NULL DEFAULT 0;
ALTER TABLE retention ADD COLUMN memory_bytes INTEGER NOT NULL DEFAULT 0;
