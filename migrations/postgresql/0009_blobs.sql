-- Blobs that something has stopped naming; the sweep deletes those that nothing else names.
CREATE TABLE blob_garbage (
    sha256 TEXT PRIMARY KEY
);

-- Who names a blob?
CREATE INDEX uploads_blob ON uploads (blob_sha256) WHERE state = 'queued';
CREATE INDEX uploads_map ON uploads (map_sha256) WHERE state = 'queued' AND map_sha256 IS NOT NULL;
CREATE INDEX symbol_files_file ON symbol_files (file_sha256);
CREATE INDEX symbol_files_index ON symbol_files (index_sha256) WHERE index_sha256 IS NOT NULL;
CREATE INDEX assembled_files_blob ON assembled_files (blob_sha256);
CREATE INDEX chunks_blob ON chunks (blob_sha256);

-- Bytes that files have taken from a chunk since it was last sent.
ALTER TABLE chunks ADD COLUMN taken bigint NOT NULL DEFAULT 0;
