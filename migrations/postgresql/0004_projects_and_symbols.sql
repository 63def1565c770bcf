-- Path prefixes that a project wants cut from file names, one a line.
ALTER TABLE projects ADD COLUMN cut_prefixes text COLLATE "C";

-- The BCSymbolMap that would tell a file's hidden names; files of kind bcsymbolmap and uuidmap (a
-- dSYM's plist that names its map) are kept beside the symbol files they belong to.
ALTER TABLE symbol_files ADD COLUMN map_uuid bytea;
CREATE INDEX symbol_files_map ON symbol_files (project_id, map_uuid) WHERE map_uuid IS NOT NULL;

-- An upload that only builds an index anew: of a stored file, with this map if it has one.
ALTER TABLE uploads ADD COLUMN rebuild bigint NOT NULL DEFAULT 0;
ALTER TABLE uploads ADD COLUMN map_sha256 text COLLATE "C";

-- Names of the system's functions, told by reports that brought them: `start` counts from the load
-- address of the image; the name holds for addresses up to start + reach.
CREATE TABLE learned_names (
    project_id bigint NOT NULL, -- 0: shared by all projects
    uuid       bytea   NOT NULL,
    start      bigint NOT NULL,
    reach      bigint NOT NULL,
    name       text COLLATE "C" NOT NULL,
    seen_ms    bigint NOT NULL,
    PRIMARY KEY (project_id, uuid, start)
);
