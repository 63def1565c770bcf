-- What other people's uploaders send: files in chunks, and the releases that builds tell of.

-- A chunk belongs to the token that sent it, since an organisation's upload names no project. Its
-- blob is nobody else's: the bytes stand behind a random head, so it can be deleted with the row.
CREATE TABLE chunks (
    token_id    bigint           NOT NULL REFERENCES tokens (id),
    sha1        text COLLATE "C" NOT NULL,
    blob_sha256 text COLLATE "C" NOT NULL,
    size        bigint           NOT NULL, -- without the head
    expires_ms  bigint           NOT NULL, -- 0: being deleted
    PRIMARY KEY (token_id, sha1)
);
CREATE INDEX chunks_expired ON chunks (expires_ms);

-- Files that were put together from chunks. Of kind "symbols" the upload tells what became of it;
-- others ("sources", "bcsymbolmap", "uuidmap") are only kept.
CREATE TABLE assembled_files (
    project_id  bigint           NOT NULL REFERENCES projects (id),
    sha1        text COLLATE "C" NOT NULL,
    kind        text COLLATE "C" NOT NULL,
    uuid        bytea, -- as the client says
    name        text COLLATE "C" NOT NULL,
    blob_sha256 text COLLATE "C" NOT NULL,
    size        bigint           NOT NULL,
    upload_id   text COLLATE "C", -- uploads.id
    created_ms  bigint           NOT NULL,
    PRIMARY KEY (project_id, sha1)
);
CREATE INDEX assembled_files_uuid ON assembled_files (project_id, kind, uuid);

CREATE TABLE releases (
    key         bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id  bigint           NOT NULL REFERENCES projects (id),
    version     text COLLATE "C" NOT NULL,
    status      text COLLATE "C" NOT NULL, -- "open", "archived"
    ref         text COLLATE "C",
    url         text COLLATE "C",
    commits     text COLLATE "C", -- JSON array, as the client sent it
    created_ms  bigint           NOT NULL,
    started_ms  bigint           NOT NULL DEFAULT 0,
    released_ms bigint           NOT NULL DEFAULT 0,
    UNIQUE (project_id, version)
);
CREATE INDEX releases_newest ON releases (project_id, created_ms, key);

CREATE TABLE deploys (
    id          bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    release_key bigint           NOT NULL REFERENCES releases (key) ON DELETE CASCADE,
    environment text COLLATE "C" NOT NULL,
    name        text COLLATE "C",
    url         text COLLATE "C",
    started_ms  bigint           NOT NULL DEFAULT 0,
    finished_ms bigint           NOT NULL
);
CREATE INDEX deploys_release ON deploys (release_key, id);
