-- What other people's uploaders send: files in chunks, and the releases that builds tell of.

-- A chunk belongs to the token that sent it, since an organisation's upload names no project. Its
-- blob is nobody else's: the bytes stand behind a random head, so it can be deleted with the row.
CREATE TABLE chunks (
    token_id    INTEGER NOT NULL REFERENCES tokens (id),
    sha1        TEXT    NOT NULL,
    blob_sha256 TEXT    NOT NULL,
    size        INTEGER NOT NULL, -- without the head
    expires_ms  INTEGER NOT NULL, -- 0: being deleted
    PRIMARY KEY (token_id, sha1)
) STRICT, WITHOUT ROWID;
CREATE INDEX chunks_expired ON chunks (expires_ms);

-- Files that were put together from chunks. Of kind "symbols" the upload tells what became of it;
-- others ("sources", "bcsymbolmap", "uuidmap") are only kept.
CREATE TABLE assembled_files (
    project_id  INTEGER NOT NULL REFERENCES projects (id),
    sha1        TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    uuid        BLOB, -- as the client says
    name        TEXT    NOT NULL,
    blob_sha256 TEXT    NOT NULL,
    size        INTEGER NOT NULL,
    upload_id   TEXT, -- uploads.id
    created_ms  INTEGER NOT NULL,
    PRIMARY KEY (project_id, sha1)
) STRICT, WITHOUT ROWID;
CREATE INDEX assembled_files_uuid ON assembled_files (project_id, kind, uuid);

CREATE TABLE releases (
    key         INTEGER PRIMARY KEY,
    project_id  INTEGER NOT NULL REFERENCES projects (id),
    version     TEXT    NOT NULL,
    status      TEXT    NOT NULL, -- "open", "archived"
    ref         TEXT,
    url         TEXT,
    commits     TEXT, -- JSON array, as the client sent it
    created_ms  INTEGER NOT NULL,
    started_ms  INTEGER NOT NULL DEFAULT 0,
    released_ms INTEGER NOT NULL DEFAULT 0,
    UNIQUE (project_id, version)
) STRICT;
CREATE INDEX releases_newest ON releases (project_id, created_ms, key);

CREATE TABLE deploys (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    release_key INTEGER NOT NULL REFERENCES releases (key) ON DELETE CASCADE,
    environment TEXT    NOT NULL,
    name        TEXT,
    url         TEXT,
    started_ms  INTEGER NOT NULL DEFAULT 0,
    finished_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX deploys_release ON deploys (release_key, id);
