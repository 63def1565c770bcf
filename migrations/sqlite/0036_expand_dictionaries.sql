-- What reports of one project and format have in common, for zstd; the frames in report_bodies, report_memory and report_results name
-- the one that they need by its id. A row is never changed, and stays while a frame may need it.
CREATE TABLE dictionaries (
    id         INTEGER PRIMARY KEY, -- as in the frames: 32768 to 2^31 - 1
    project_id INTEGER NOT NULL REFERENCES projects (id),
    format     TEXT    NOT NULL,
    what       INTEGER NOT NULL, -- 1 = bodies, 2 = results
    version    INTEGER NOT NULL, -- the highest one is written with
    trained_ms INTEGER NOT NULL,
    n_samples  INTEGER NOT NULL,
    sha256     TEXT    NOT NULL,
    content    BLOB    NOT NULL,
    UNIQUE (project_id, format, what, version)
);
