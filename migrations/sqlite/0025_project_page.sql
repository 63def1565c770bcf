-- What a project's users share on the page.
-- How a place in the source becomes a link, or a command.
ALTER TABLE projects ADD COLUMN source_template TEXT;
-- Beginnings of paths and what takes their place in links: one pair a line, with a tab between them.
ALTER TABLE projects ADD COLUMN source_paths TEXT;

-- Saved filters of the list of issues.
CREATE TABLE filters (
    id         INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    name       TEXT    NOT NULL,
    query      TEXT    NOT NULL, -- in the query language
    since      TEXT,             -- as in the page's address: "14d"
    until      TEXT,
    sort       TEXT,
    actor      TEXT    NOT NULL, -- who has saved it
    created_ms INTEGER NOT NULL,
    UNIQUE (project_id, name)
) STRICT;
