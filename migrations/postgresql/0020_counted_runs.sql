-- Runs whose counted report was deleted. Its fact stays, so a report of the run that comes later, or that
-- takes its place, is the same crash and is not counted.
CREATE TABLE counted_runs (
    project_id bigint  NOT NULL,
    run_id     TEXT    NOT NULL,
    PRIMARY KEY (project_id, run_id)
);
-- Reports that have taken the place of one that was deleted.
INSERT INTO counted_runs (project_id, run_id)
    SELECT DISTINCT r.project_id, r.run_id FROM reports r JOIN facts f ON f.project_id = r.project_id
    AND f.received_ms = r.received_ms AND f.report_key = r.key
    WHERE r.run_id IS NOT NULL AND r.ends_run = 1 AND r.same_as IS NULL AND f.is_counted = 0;
