-- Who changed what, and who logged in. Entries are added, and deleted when they are a year old.
CREATE TABLE audit (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL, -- 0 = of none
    at_ms      INTEGER NOT NULL,
    sender_id  INTEGER NOT NULL, -- of a token; of a user negative; 0 = neither
    actor      TEXT    NOT NULL,
    address    TEXT    NOT NULL,
    action     TEXT    NOT NULL,
    object     TEXT,
    detail     TEXT
) STRICT;
CREATE INDEX audit_project ON audit (project_id, id);
CREATE INDEX audit_old ON audit (at_ms);

-- People whose reports are deleted; user_id is NULL once all of it is done.
CREATE TABLE erasures (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id  INTEGER NOT NULL REFERENCES projects (id),
    user_id     TEXT,
    created_ms  INTEGER NOT NULL,
    finished_ms INTEGER NOT NULL DEFAULT 0,
    n_reports   INTEGER NOT NULL DEFAULT 0,
    UNIQUE (project_id, user_id)
) STRICT;
