-- Row security, which `framezero row-security on` turns on (storage/store_row_security.h): then there is one row.
CREATE TABLE row_security (
    role  text COLLATE "C" NOT NULL, -- that connections for requests take on
    rules text COLLATE "C" NOT NULL  -- SHA-256 of those that were applied: another program may have others
);

-- Ids of the project's terms whose text has a part. LIKE may use the index of parts only before a policy leaves out the rows of others,
-- so this does so as the owner of the table, for the project alone.
CREATE FUNCTION term_parts(part text) RETURNS SETOF bigint LANGUAGE sql STABLE SECURITY DEFINER ROWS 100
BEGIN ATOMIC
    SELECT id FROM terms WHERE text ILIKE part ESCAPE '!'
        AND project_id + 0 = CAST(nullif(current_setting('framezero.project', true), '') AS bigint);
END;
REVOKE EXECUTE ON FUNCTION term_parts(text) FROM PUBLIC;

-- What goes with a report is not to be seen any more through it: as the owner of the tables.
ALTER FUNCTION report_deleted() SECURITY DEFINER SET search_path FROM CURRENT;
