-- What a project stored when a sweep of retention looked last: counting millions of reports takes longer than a request may.
ALTER TABLE retention ADD COLUMN counted_ms bigint NOT NULL DEFAULT 0; -- 0 = no sweep has looked yet
ALTER TABLE retention ADD COLUMN n_reports bigint NOT NULL DEFAULT 0;
ALTER TABLE retention ADD COLUMN n_bodies bigint NOT NULL DEFAULT 0;
ALTER TABLE retention ADD COLUMN body_bytes bigint NOT NULL DEFAULT 0;
ALTER TABLE retention ADD COLUMN n_results bigint NOT NULL DEFAULT 0;
ALTER TABLE retention ADD COLUMN result_bytes bigint NOT NULL DEFAULT 0;
ALTER TABLE retention ADD COLUMN n_memory bigint NOT NULL DEFAULT 0;
ALTER TABLE retention ADD COLUMN memory_bytes bigint NOT NULL DEFAULT 0;
