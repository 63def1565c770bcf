-- People who log in to the page: users, their roles, sessions, and links that work once.

CREATE TABLE users (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    email       TEXT    NOT NULL UNIQUE, -- in lower case; of a trusted proxy, what that calls the user
    name        TEXT    NOT NULL,
    password    TEXT, -- argon2id; NULL = no login with a password
    is_disabled INTEGER NOT NULL DEFAULT 0,
    created_ms  INTEGER NOT NULL,
    login_ms    INTEGER NOT NULL DEFAULT 0 -- the last one; 0 = never
) STRICT;

CREATE TABLE user_roles (
    user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    project_id INTEGER NOT NULL, -- 0 = all projects
    role       INTEGER NOT NULL, -- enum store_role
    PRIMARY KEY (user_id, project_id)
) STRICT, WITHOUT ROWID;

-- Who a user is at an OpenID provider.
CREATE TABLE user_identities (
    issuer     TEXT    NOT NULL,
    subject    TEXT    NOT NULL,
    user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_ms INTEGER NOT NULL,
    PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX user_identities_user ON user_identities (user_id);

-- Only the hash of what the browser has.
CREATE TABLE web_sessions (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    sha256     TEXT    NOT NULL UNIQUE,
    user_id    INTEGER REFERENCES users (id) ON DELETE CASCADE,
    token_id   INTEGER REFERENCES tokens (id), -- in place of a user: a token was pasted
    via        INTEGER NOT NULL, -- enum store_via
    created_ms INTEGER NOT NULL,
    used_ms    INTEGER NOT NULL,
    address    TEXT    NOT NULL,
    agent      TEXT    NOT NULL
) STRICT;
CREATE INDEX web_sessions_user ON web_sessions (user_id);

CREATE TABLE user_links (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    sha256     TEXT    NOT NULL UNIQUE,
    kind       INTEGER NOT NULL, -- enum store_link_kind
    user_id    INTEGER REFERENCES users (id) ON DELETE CASCADE, -- of a reset
    email      TEXT, -- of an invitation
    project_id INTEGER NOT NULL DEFAULT 0, -- of an invitation; 0 = all
    role       INTEGER NOT NULL DEFAULT 0,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    used_ms    INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX user_links_user ON user_links (user_id);
