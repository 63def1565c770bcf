-- The names that were told longest ago are dropped first, where a project has too many.
CREATE INDEX learned_names_seen ON learned_names (project_id, seen_ms);
