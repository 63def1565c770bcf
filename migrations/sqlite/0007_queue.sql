-- The queue: what may be claimed at once has due_ms = 0, so neither a full queue nor a clock that
-- was set is in its way. due_ms and since_ms are times of the queue's own clock (sql_clock).
ALTER TABLE jobs ADD COLUMN priority INTEGER NOT NULL DEFAULT 0; -- 0 fresh, 1 asked for, 2 late
ALTER TABLE jobs ADD COLUMN since_ms INTEGER NOT NULL DEFAULT 0; -- waits since then
UPDATE jobs SET due_ms = 0 WHERE state = 0;
UPDATE jobs SET due_ms = 1 WHERE state = 1;
DROP INDEX jobs_due;
CREATE INDEX jobs_ready ON jobs (kind, priority, project_id, id) WHERE state = 0 AND due_ms = 0;
-- Leases, and what waits for another attempt.
CREATE INDEX jobs_timed ON jobs (state, due_ms) WHERE state < 2 AND due_ms > 0;

-- The boot that the queue's clock counts from, where it is not a calendar's.
CREATE TABLE queue_clock (
    boot TEXT NOT NULL
) STRICT;

-- Reports that wait for a symbol file are queued in portions, one after the other.
DROP INDEX reports_waiting;
CREATE INDEX reports_waiting ON reports (project_id, wait_set, received_ms, key)
    WHERE wait_set IS NOT NULL;
ALTER TABLE uploads ADD COLUMN n_unblocked INTEGER NOT NULL DEFAULT 0; -- by its portions so far
