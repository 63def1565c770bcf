-- Projects, tokens, reports, symbol files, uploads and the job queue.
-- All times are Unix milliseconds; UUIDs are 16 bytes; ids of reports, uploads are 32 hex digits.

CREATE TABLE projects (
    id         bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text COLLATE "C" NOT NULL UNIQUE,
    created_ms bigint           NOT NULL,
    symbol_seq bigint           NOT NULL DEFAULT 0 -- grows whenever symbol files became ready
);

CREATE TABLE tokens (
    id         bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id bigint           REFERENCES projects (id), -- NULL: all projects
    scopes     bigint           NOT NULL,
    label      text COLLATE "C" NOT NULL,
    hint       text COLLATE "C" NOT NULL,
    lookup     text COLLATE "C" NOT NULL, -- the first digits of the hash
    sha256     text COLLATE "C" NOT NULL,
    created_ms bigint           NOT NULL,
    revoked_ms bigint           NOT NULL DEFAULT 0
);
CREATE INDEX tokens_lookup ON tokens (lookup);

CREATE TABLE reports (
    key          bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id   bigint           NOT NULL REFERENCES projects (id),
    id           text COLLATE "C" NOT NULL,
    body_sha256  text COLLATE "C" NOT NULL,
    transient    bigint           NOT NULL DEFAULT 0,
    received_ms  bigint           NOT NULL,
    timestamp_ms bigint           NOT NULL DEFAULT 0,
    status       text COLLATE "C" NOT NULL,
    format       text COLLATE "C" NOT NULL,
    app_id       text COLLATE "C",
    app_name     text COLLATE "C",
    app_version  text COLLATE "C",
    app_build    text COLLATE "C",
    os_name      text COLLATE "C",
    os_version   text COLLATE "C",
    device_model text COLLATE "C",
    arch         text COLLATE "C",
    signal       text COLLATE "C",
    exception    text COLLATE "C",
    reason       text COLLATE "C",
    top_function text COLLATE "C",
    top_file     text COLLATE "C",
    top_line     bigint           NOT NULL DEFAULT 0,
    error        text COLLATE "C",
    n_missing    bigint           NOT NULL DEFAULT 0,
    n_processed  bigint           NOT NULL DEFAULT 0,
    image_set    bigint, -- image_sets.key: all its images
    wait_set     bigint, -- wait_sets.key: the images it waits for
    UNIQUE (project_id, id)
);
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
    report_key bigint PRIMARY KEY REFERENCES reports (key) ON DELETE CASCADE,
    body       bytea  NOT NULL
);
CREATE TABLE report_results (
    report_key bigint PRIMARY KEY REFERENCES reports (key) ON DELETE CASCADE,
    result     bytea  NOT NULL
);

-- The number of reports is the sum of n: every commit adds a row, a reader folds them at times.
CREATE TABLE report_counts (
    n bigint NOT NULL
);

-- Reports of one build on one system have the same images, so each set of them is kept once.
CREATE TABLE image_sets (
    key        bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id bigint           NOT NULL REFERENCES projects (id),
    sha256     text COLLATE "C" NOT NULL,
    UNIQUE (project_id, sha256)
);
CREATE TABLE image_set_items (
    project_id bigint NOT NULL,
    uuid       bytea  NOT NULL,
    set_key    bigint NOT NULL,
    PRIMARY KEY (project_id, uuid, set_key)
);

-- The same for the images that reports wait for, told apart by the version of the app too.
CREATE TABLE wait_sets (
    key         bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id  bigint           NOT NULL REFERENCES projects (id),
    sha256      text COLLATE "C" NOT NULL,
    app_version text COLLATE "C",
    UNIQUE (project_id, sha256)
);
CREATE TABLE wait_set_items (
    set_key    bigint           NOT NULL,
    uuid       bytea            NOT NULL,
    project_id bigint           NOT NULL,
    name       text COLLATE "C",
    arch       text COLLATE "C",
    PRIMARY KEY (set_key, uuid)
);
CREATE INDEX wait_set_items_uuid ON wait_set_items (project_id, uuid);

CREATE TABLE symbol_files (
    key           bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id    bigint           NOT NULL REFERENCES projects (id),
    uuid          bytea            NOT NULL,
    arch          text COLLATE "C",
    kind          text COLLATE "C" NOT NULL,
    name          text COLLATE "C",
    size          bigint           NOT NULL,
    state         text COLLATE "C" NOT NULL,
    file_sha256   text COLLATE "C" NOT NULL,
    index_sha256  text COLLATE "C",
    index_version bigint           NOT NULL DEFAULT 0,
    features_json text COLLATE "C",
    problems_json text COLLATE "C",
    uploaded_ms   bigint           NOT NULL,
    has_dwarf     bigint           NOT NULL,
    ready_seq     bigint           NOT NULL DEFAULT 0, -- projects.symbol_seq when it became ready
    UNIQUE (project_id, uuid, file_sha256)
);
CREATE INDEX symbol_files_newest ON symbol_files (project_id, uploaded_ms, key);

CREATE TABLE uploads (
    project_id  bigint           NOT NULL REFERENCES projects (id),
    id          text COLLATE "C" NOT NULL,
    blob_sha256 text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    size        bigint           NOT NULL,
    state       text COLLATE "C" NOT NULL,
    result      text COLLATE "C",
    error       text COLLATE "C",
    error_code  bigint           NOT NULL DEFAULT 0,
    created_ms  bigint           NOT NULL,
    PRIMARY KEY (project_id, id)
);

-- Reports and uploads that wait or are worked on; a row is deleted when its work is done, and its
-- id is never used again, or an old fence might fit.
CREATE TABLE jobs (
    id         bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id bigint           NOT NULL REFERENCES projects (id),
    kind       bigint           NOT NULL, -- 1 report, 2 upload
    subject    text COLLATE "C" NOT NULL,
    state      bigint           NOT NULL DEFAULT 0, -- 0 queued, 1 leased, 2 in quarantine
    due_ms     bigint           NOT NULL, -- may be claimed from then on; the end of a lease
    queued_ms  bigint           NOT NULL,
    attempt    bigint           NOT NULL DEFAULT 0,
    strikes    bigint           NOT NULL DEFAULT 0, -- claims that the work itself is to blame for
    deaths     bigint           NOT NULL DEFAULT 0, -- children that died of it
    fence      bigint           NOT NULL DEFAULT 0,
    seen_seq   bigint           NOT NULL DEFAULT 0, -- projects.symbol_seq at the claim
    again      bigint           NOT NULL DEFAULT 0, -- asked for once more while it was worked on
    worker     text COLLATE "C",
    error      text COLLATE "C",
    UNIQUE (project_id, kind, subject)
);
CREATE INDEX jobs_due ON jobs (kind, due_ms, id) WHERE state < 2;
CREATE INDEX jobs_quarantined ON jobs (id) WHERE state = 2;
