-- Where PostgreSQL has a table, since reports are partitioned there: which report has an id, and which a body.
CREATE VIEW report_ids AS SELECT project_id, key, transient, id, body_sha256 FROM reports;
