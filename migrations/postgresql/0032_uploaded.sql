-- Symbol files had 0 for the time of their upload. When it was is not known: now, so that none is deleted
-- before it was unused for as long as its project says.
UPDATE symbol_files SET uploaded_ms = CAST(extract(epoch FROM now()) AS bigint) * 1000 WHERE uploaded_ms = 0;
