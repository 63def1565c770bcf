-- Reports that belong to no issue: queued, failed, or not grouped yet. Lists look for them by their rows, all others by facts.
CREATE INDEX reports_no_facts ON reports (project_id, received_ms, key) WHERE is_grouped = 0 AND transient = 0;
