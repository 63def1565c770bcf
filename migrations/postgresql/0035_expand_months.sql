-- Reports and what belongs to them are kept by the month in which they came: one partition of each table for each month,
-- so that retention can drop a month whole. The month is a part of the key, so every look by key is in one partition.
-- What is stored already becomes the first partition as it is.

-- Months since 2020, by UTC.
CREATE FUNCTION report_month(at timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE
    RETURN CAST(extract(year FROM at AT TIME ZONE 'UTC') * 12 + extract(month FROM at AT TIME ZONE 'UTC') - 24241 AS bigint);

-- A key is above all of the months before, and below 2^53. The month is that of this server: the clocks of nodes may differ.
CREATE SEQUENCE report_keys AS bigint MAXVALUE 1099511627775;
CREATE FUNCTION report_key() RETURNS bigint LANGUAGE sql VOLATILE
    RETURN (report_month(now()) << 40) + nextval('report_keys');

-- ---- the tables ----

-- In the order in which nodes that are at work lock them: what they have begun ends first, and none waits for this one in a circle.
LOCK TABLE reports, report_bodies, report_results, report_memory IN ACCESS EXCLUSIVE MODE;

ALTER TABLE report_bodies DROP CONSTRAINT report_bodies_report_key_fkey;
ALTER TABLE report_results DROP CONSTRAINT report_results_report_key_fkey;
ALTER TABLE report_memory DROP CONSTRAINT report_memory_report_key_fkey;
ALTER TABLE reports ALTER COLUMN key DROP IDENTITY;

DO $$
DECLARE
    parent text;
    index record;
    first text := CAST(report_month(now()) << 40 AS text);
BEGIN
    FOREACH parent IN ARRAY ARRAY['reports', 'report_bodies', 'report_results', 'report_memory'] LOOP
        EXECUTE format('ALTER TABLE %I RENAME TO %I', parent, parent || '_old');
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING STORAGE) PARTITION BY RANGE (%I)', parent,
                       parent || '_old', CASE parent WHEN 'reports' THEN 'key' ELSE 'report_key' END);
        -- Indexes of the whole table have the names of before; those of its first partition are attached to them, not built anew.
        FOR index IN
            SELECT CAST(c.relname AS text) AS name, i.indisprimary, pg_get_indexdef(c.oid) AS text, i.indisunique
            FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
            WHERE i.indrelid = CAST(format('%I', parent || '_old') AS regclass) ORDER BY c.oid
        LOOP
            CONTINUE WHEN index.indisunique AND NOT index.indisprimary; -- report_ids has these
            EXECUTE format('ALTER INDEX %I RENAME TO %I', index.name, index.name || '_old');
            IF index.indisprimary THEN
                EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I PRIMARY KEY (%I)', parent, index.name,
                               CASE parent WHEN 'reports' THEN 'key' ELSE 'report_key' END);
            ELSE
                EXECUTE replace(index.text, format('.%I USING', parent || '_old'), format('.%I USING', parent));
            END IF;
        END LOOP;
    END LOOP;
    ALTER TABLE reports ADD CONSTRAINT reports_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects (id);
    ALTER TABLE report_memory ADD CONSTRAINT report_memory_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects (id);
    FOREACH parent IN ARRAY ARRAY['reports', 'report_bodies', 'report_results', 'report_memory'] LOOP
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%s)', parent, parent || '_old', first);
        -- For keys whose month has no partition; normally empty.
        EXECUTE format('CREATE TABLE %I PARTITION OF %I DEFAULT', parent || '_rest', parent);
    END LOOP;
END $$;
ALTER TABLE reports ALTER COLUMN key SET DEFAULT report_key();
ALTER SEQUENCE report_keys OWNED BY reports.key;

-- Programs of before, which serve until they are replaced, look for ids in these two. An empty one is for nobody but a copy.
DO $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM reports_old) THEN
        ALTER TABLE reports_old DROP CONSTRAINT reports_project_id_id_key;
        DROP INDEX reports_body;
    END IF;
END $$;

-- ---- who is stored ----

-- A row for each report: a table that is partitioned has no unique index but by its key.
CREATE TABLE report_ids (
    project_id  bigint           NOT NULL,
    key         bigint           NOT NULL,
    transient   bigint           NOT NULL,
    id          text COLLATE "C" NOT NULL,
    body_sha256 text COLLATE "C" NOT NULL
);
INSERT INTO report_ids (project_id, key, transient, id, body_sha256)
    SELECT project_id, key, transient, id, body_sha256 FROM reports_old;
ALTER TABLE report_ids ADD PRIMARY KEY (project_id, id);
-- A body that is only passing through must not shadow the same body sent as a report.
CREATE UNIQUE INDEX report_ids_body ON report_ids (project_id, body_sha256) WHERE transient = 0;

-- A report that is stored already is passed over, as ON CONFLICT DO NOTHING does.
CREATE FUNCTION report_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO report_ids (project_id, key, transient, id, body_sha256)
        VALUES (NEW.project_id, NEW.key, NEW.transient, NEW.id, NEW.body_sha256) ON CONFLICT DO NOTHING;
    RETURN CASE WHEN FOUND THEN NEW END;
END $$;
CREATE TRIGGER report_added BEFORE INSERT ON reports FOR EACH ROW EXECUTE FUNCTION report_added();

-- Months that ended and have bodies or results of reports that retention has deleted since then; 0: the first partition.
-- These go with the month, all at once.
CREATE TABLE report_months (
    month    bigint PRIMARY KEY,
    since_ms bigint NOT NULL
);

-- Instead of foreign keys: a month could not be dropped without a look at all reports.
CREATE FUNCTION report_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM report_ids WHERE project_id = OLD.project_id AND id = OLD.id;
    DELETE FROM report_memory WHERE report_key = OLD.key;
    IF OLD.key >= report_month(now()) << 40 OR coalesce(current_setting('framezero.whole_months', true), '') <> 'on' THEN
        DELETE FROM report_bodies WHERE report_key = OLD.key;
        DELETE FROM report_results WHERE report_key = OLD.key;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER report_deleted AFTER DELETE ON reports FOR EACH ROW EXECUTE FUNCTION report_deleted();

CREATE FUNCTION reports_emptied() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE report_ids;
    RETURN NULL;
END $$;
CREATE TRIGGER reports_emptied AFTER TRUNCATE ON reports FOR EACH STATEMENT EXECUTE FUNCTION reports_emptied();

-- ---- months ----

-- Make the partitions of this month and of those after it; returns how many were made. Of the locks that it takes, readers and
-- writers wait for those on the rest only. A month of which the rest has rows already stays there.
CREATE FUNCTION report_months_make(ahead bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    parent text;
    made bigint := 0;
    low bigint;
    month text;
    in_rest boolean;
BEGIN
    FOR n IN report_month(now()) .. report_month(now()) + ahead LOOP
        low := CAST(n AS bigint) << 40;
        month := to_char(make_date(CAST(2020 + n / 12 AS int), CAST(n % 12 + 1 AS int), 1), '_YYYY_MM');
        CONTINUE WHEN to_regclass('reports' || month) IS NOT NULL;
        SELECT EXISTS (SELECT 1 FROM reports_rest WHERE key >= low AND key < low + (CAST(1 AS bigint) << 40)) INTO in_rest;
        CONTINUE WHEN in_rest;
        FOREACH parent IN ARRAY ARRAY['reports', 'report_bodies', 'report_results', 'report_memory'] LOOP
            EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING STORAGE)', parent || month, parent);
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', parent, parent || month, low,
                           low + (CAST(1 AS bigint) << 40));
        END LOOP;
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;
SELECT report_months_make(1);

-- PostgreSQL does so by itself for partitions, not for what is made of them.
ANALYZE reports, report_ids;
