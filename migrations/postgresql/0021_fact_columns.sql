-- Columns of facts: days that are over and quiet are stored a second time, one block for each column
-- of a day, which lists read a hundred times as fast as rows. They are derived: without them lists
-- are slower, and the same.
CREATE TABLE fact_days (
    project_id bigint NOT NULL,
    day        bigint NOT NULL, -- received_ms / 86400000
    state      bigint NOT NULL, -- enum store_day_state
    n          bigint NOT NULL DEFAULT 0, -- facts in its columns
    changed_ms bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (project_id, day)
);
CREATE INDEX fact_days_changed ON fact_days (changed_ms) WHERE state IN (0, 2, 4);
CREATE TABLE fact_columns (
    project_id bigint NOT NULL,
    day        bigint NOT NULL,
    field      bigint NOT NULL, -- enum store_fact_column
    body       bytea NOT NULL, -- storage/store_block.h
    PRIMARY KEY (project_id, day, field)
);
-- Blocks are packed already: to compress them would only cost time.
ALTER TABLE fact_columns ALTER COLUMN body SET STORAGE EXTERNAL;
-- Facts of this day and later ones are in no columns. It is raised under the project's lock, so
-- that whoever stores a fact of such a day has nothing else to do.
ALTER TABLE projects ADD COLUMN sealed_before bigint NOT NULL DEFAULT 0;
