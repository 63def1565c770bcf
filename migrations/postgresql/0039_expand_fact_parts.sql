-- Today's facts are stored as columns, too, until a time: those of the hours that are over.
-- Facts that were received from this time on are in no columns. It is raised under the project's lock, so that whoever stores such
-- a fact has nothing else to do. It replaces sealed_before, which is raised, too, for programs of the version before: for those,
-- each fact of a day that has columns is a change of that day.
ALTER TABLE projects ADD COLUMN sealed_ms bigint NOT NULL DEFAULT 0;
UPDATE projects SET sealed_ms = sealed_before * 86400000;
-- The columns of the sealing until_sealing have the facts of the day before until_ms. Those of any other sealing have all of them.
ALTER TABLE fact_days ADD COLUMN until_ms bigint NOT NULL DEFAULT 0;
ALTER TABLE fact_days ADD COLUMN until_sealing bigint NOT NULL DEFAULT 0;
-- A program of the version before seals whole days, and raises sealed_before only.
CREATE FUNCTION fact_day_sealing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE projects SET sealed_ms = (NEW.day + 1) * 86400000
        WHERE id = NEW.project_id AND sealed_ms < (NEW.day + 1) * 86400000;
    RETURN NEW;
END $$;
CREATE TRIGGER fact_day_sealing BEFORE INSERT OR UPDATE ON fact_days FOR EACH ROW
    WHEN (NEW.state = 2 AND NEW.until_sealing <> NEW.sealing) EXECUTE FUNCTION fact_day_sealing();
