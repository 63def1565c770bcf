-- What each project has sent on a day (UTC), for quotas that hold over all servers. `slot` spreads
-- the writers: connections that count at the same time do not wait for each other.
CREATE TABLE usage (
    project_id bigint NOT NULL REFERENCES projects (id),
    day        bigint NOT NULL, -- days since 1970-01-01
    kind       bigint NOT NULL, -- enum store_usage_kind
    slot       bigint NOT NULL,
    bytes      bigint NOT NULL,
    n          bigint NOT NULL,
    PRIMARY KEY (day, project_id, kind, slot)
);
