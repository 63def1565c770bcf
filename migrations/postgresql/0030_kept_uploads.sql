-- Uploads in quarantine (state 'quarantined') keep their bytes: who names a blob, and which uploads failed.
CREATE INDEX uploads_kept ON uploads (blob_sha256) WHERE state = 'quarantined';
CREATE INDEX uploads_failed ON uploads (project_id, created_ms, id) WHERE state IN ('failed', 'quarantined');
