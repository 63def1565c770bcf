-- Projects, tokens, reports, symbol files, uploads and the job queue.
-- All times are Unix milliseconds; UUIDs are 16 bytes; ids of reports, uploads are 32 hex digits.

CREATE TABLE projects (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT    NOT NULL UNIQUE,
    created_ms INTEGER NOT NULL,
    symbol_seq INTEGER NOT NULL DEFAULT 0 -- grows whenever symbol files became ready
) STRICT;

CREATE TABLE tokens (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER REFERENCES projects (id), -- NULL: all projects
    scopes     INTEGER NOT NULL,
    label      TEXT    NOT NULL,
    hint       TEXT    NOT NULL,
    lookup     TEXT    NOT NULL, -- the first digits of the hash
    sha256     TEXT    NOT NULL,
    created_ms INTEGER NOT NULL,
    revoked_ms INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX tokens_lookup ON tokens (lookup);

CREATE TABLE reports (
    key          INTEGER PRIMARY KEY,
    project_id   INTEGER NOT NULL REFERENCES projects (id),
    id           TEXT    NOT NULL,
    body_sha256  TEXT    NOT NULL,
    transient    INTEGER NOT NULL DEFAULT 0,
    received_ms  INTEGER NOT NULL,
    timestamp_ms INTEGER NOT NULL DEFAULT 0,
    status       TEXT    NOT NULL,
    format       TEXT    NOT NULL,
    app_id       TEXT,
    app_name     TEXT,
    app_version  TEXT,
    app_build    TEXT,
    os_name      TEXT,
    os_version   TEXT,
    device_model TEXT,
    arch         TEXT,
    signal       TEXT,
    exception    TEXT,
    reason       TEXT,
    top_function TEXT,
    top_file     TEXT,
    top_line     INTEGER NOT NULL DEFAULT 0,
    error        TEXT,
    n_missing    INTEGER NOT NULL DEFAULT 0,
    n_processed  INTEGER NOT NULL DEFAULT 0,
    image_set    INTEGER, -- image_sets.key: all its images
    wait_set     INTEGER, -- wait_sets.key: the images it waits for
    UNIQUE (project_id, id)
) STRICT;
-- A body that is only passing through must not shadow the same body sent as a report.
CREATE UNIQUE INDEX reports_body ON reports (project_id, body_sha256) WHERE transient = 0;
CREATE INDEX reports_newest ON reports (project_id, received_ms, id) WHERE transient = 0;
CREATE INDEX reports_status ON reports (project_id, status, received_ms, id) WHERE transient = 0;
CREATE INDEX reports_images ON reports (image_set) WHERE image_set IS NOT NULL;
CREATE INDEX reports_waiting ON reports (project_id, wait_set, received_ms)
    WHERE wait_set IS NOT NULL;
CREATE INDEX reports_transient ON reports (received_ms) WHERE transient = 1;

-- Bodies and results are zstd frames, apart from the columns so that lists do not walk over them.
CREATE TABLE report_bodies (
    report_key INTEGER PRIMARY KEY REFERENCES reports (key) ON DELETE CASCADE,
    body       BLOB NOT NULL
) STRICT;
CREATE TABLE report_results (
    report_key INTEGER PRIMARY KEY REFERENCES reports (key) ON DELETE CASCADE,
    result     BLOB NOT NULL
) STRICT;

-- The number of reports is the sum of n: every commit adds a row, a reader folds them at times.
CREATE TABLE report_counts (
    n INTEGER NOT NULL
) STRICT;

-- Reports of one build on one system have the same images, so each set of them is kept once.
CREATE TABLE image_sets (
    key        INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    sha256     TEXT    NOT NULL,
    UNIQUE (project_id, sha256)
) STRICT;
CREATE TABLE image_set_items (
    project_id INTEGER NOT NULL,
    uuid       BLOB    NOT NULL,
    set_key    INTEGER NOT NULL,
    PRIMARY KEY (project_id, uuid, set_key)
) STRICT, WITHOUT ROWID;

-- The same for the images that reports wait for, told apart by the version of the app too.
CREATE TABLE wait_sets (
    key         INTEGER PRIMARY KEY,
    project_id  INTEGER NOT NULL REFERENCES projects (id),
    sha256      TEXT    NOT NULL,
    app_version TEXT,
    UNIQUE (project_id, sha256)
) STRICT;
CREATE TABLE wait_set_items (
    set_key    INTEGER NOT NULL,
    uuid       BLOB    NOT NULL,
    project_id INTEGER NOT NULL,
    name       TEXT,
    arch       TEXT,
    PRIMARY KEY (set_key, uuid)
) STRICT, WITHOUT ROWID;
CREATE INDEX wait_set_items_uuid ON wait_set_items (project_id, uuid);

CREATE TABLE symbol_files (
    key           INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id    INTEGER NOT NULL REFERENCES projects (id),
    uuid          BLOB    NOT NULL,
    arch          TEXT,
    kind          TEXT    NOT NULL,
    name          TEXT,
    size          INTEGER NOT NULL,
    state         TEXT    NOT NULL,
    file_sha256   TEXT    NOT NULL,
    index_sha256  TEXT,
    index_version INTEGER NOT NULL DEFAULT 0,
    features_json TEXT,
    problems_json TEXT,
    uploaded_ms   INTEGER NOT NULL,
    has_dwarf     INTEGER NOT NULL,
    ready_seq     INTEGER NOT NULL DEFAULT 0, -- projects.symbol_seq when it became ready
    UNIQUE (project_id, uuid, file_sha256)
) STRICT;
CREATE INDEX symbol_files_newest ON symbol_files (project_id, uploaded_ms, key);

CREATE TABLE uploads (
    project_id  INTEGER NOT NULL REFERENCES projects (id),
    id          TEXT    NOT NULL,
    blob_sha256 TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    size        INTEGER NOT NULL,
    state       TEXT    NOT NULL,
    result      TEXT,
    error       TEXT,
    error_code  INTEGER NOT NULL DEFAULT 0,
    created_ms  INTEGER NOT NULL,
    PRIMARY KEY (project_id, id)
) STRICT, WITHOUT ROWID;

-- Reports and uploads that wait or are worked on; a row is deleted when its work is done, and its
-- id is never used again, or an old fence might fit.
CREATE TABLE jobs (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    kind       INTEGER NOT NULL, -- 1 report, 2 upload
    subject    TEXT    NOT NULL,
    state      INTEGER NOT NULL DEFAULT 0, -- 0 queued, 1 leased, 2 in quarantine
    due_ms     INTEGER NOT NULL, -- may be claimed from then on; the end of a lease
    queued_ms  INTEGER NOT NULL,
    attempt    INTEGER NOT NULL DEFAULT 0,
    strikes    INTEGER NOT NULL DEFAULT 0, -- claims that the work itself is to blame for
    deaths     INTEGER NOT NULL DEFAULT 0, -- children that died of it
    fence      INTEGER NOT NULL DEFAULT 0,
    seen_seq   INTEGER NOT NULL DEFAULT 0, -- projects.symbol_seq at the claim
    again      INTEGER NOT NULL DEFAULT 0, -- asked for once more while it was worked on
    worker     TEXT,
    error      TEXT,
    UNIQUE (project_id, kind, subject)
) STRICT;
CREATE INDEX jobs_due ON jobs (kind, due_ms, id) WHERE state < 2;
CREATE INDEX jobs_quarantined ON jobs (id) WHERE state = 2;
