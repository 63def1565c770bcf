-- Path prefixes that a project wants cut from file names, one a line.
ALTER TABLE projects ADD COLUMN cut_prefixes TEXT;

-- The BCSymbolMap that would tell a file's hidden names; files of kind bcsymbolmap and uuidmap (a
-- dSYM's plist that names its map) are kept beside the symbol files they belong to.
ALTER TABLE symbol_files ADD COLUMN map_uuid BLOB;
CREATE INDEX symbol_files_map ON symbol_files (project_id, map_uuid) WHERE map_uuid IS NOT NULL;

-- An upload that only builds an index anew: of a stored file, with this map if it has one.
ALTER TABLE uploads ADD COLUMN rebuild INTEGER NOT NULL DEFAULT 0;
ALTER TABLE uploads ADD COLUMN map_sha256 TEXT;

-- Names of the system's functions, told by reports that brought them: `start` counts from the load
-- address of the image; the name holds for addresses up to start + reach.
CREATE TABLE learned_names (
    project_id INTEGER NOT NULL, -- 0: shared by all projects
    uuid       BLOB    NOT NULL,
    start      INTEGER NOT NULL,
    reach      INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    seen_ms    INTEGER NOT NULL,
    PRIMARY KEY (project_id, uuid, start)
) STRICT, WITHOUT ROWID;
