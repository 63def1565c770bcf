-- What each project has sent on a day (UTC), for quotas that hold over all servers. `slot` spreads
-- the writers: connections that count at the same time do not wait for each other.
CREATE TABLE usage (
    project_id INTEGER NOT NULL REFERENCES projects (id),
    day        INTEGER NOT NULL, -- days since 1970-01-01
    kind       INTEGER NOT NULL, -- enum store_usage_kind
    slot       INTEGER NOT NULL,
    bytes      INTEGER NOT NULL,
    n          INTEGER NOT NULL,
    PRIMARY KEY (day, project_id, kind, slot)
) STRICT, WITHOUT ROWID;
