-- People who log in to the page: users, their roles, sessions, and links that work once.

CREATE TABLE users (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    email       text COLLATE "C"    NOT NULL UNIQUE, -- in lower case; of a trusted proxy, what that calls the user
    name        text COLLATE "C"    NOT NULL,
    password    text COLLATE "C", -- argon2id; NULL = no login with a password
    is_disabled bigint NOT NULL DEFAULT 0,
    created_ms  bigint NOT NULL,
    login_ms    bigint NOT NULL DEFAULT 0 -- the last one; 0 = never
);

CREATE TABLE user_roles (
    user_id    bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    project_id bigint NOT NULL, -- 0 = all projects
    role       bigint NOT NULL, -- enum store_role
    PRIMARY KEY (user_id, project_id)
);

-- Who a user is at an OpenID provider.
CREATE TABLE user_identities (
    issuer     text COLLATE "C"    NOT NULL,
    subject    text COLLATE "C"    NOT NULL,
    user_id    bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_ms bigint NOT NULL,
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX user_identities_user ON user_identities (user_id);

-- Only the hash of what the browser has.
CREATE TABLE web_sessions (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sha256     text COLLATE "C"    NOT NULL UNIQUE,
    user_id    bigint REFERENCES users (id) ON DELETE CASCADE,
    token_id   bigint REFERENCES tokens (id), -- in place of a user: a token was pasted
    via        bigint NOT NULL, -- enum store_via
    created_ms bigint NOT NULL,
    used_ms    bigint NOT NULL,
    address    text COLLATE "C"    NOT NULL,
    agent      text COLLATE "C"    NOT NULL
);
CREATE INDEX web_sessions_user ON web_sessions (user_id);

CREATE TABLE user_links (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sha256     text COLLATE "C"    NOT NULL UNIQUE,
    kind       bigint NOT NULL, -- enum store_link_kind
    user_id    bigint REFERENCES users (id) ON DELETE CASCADE, -- of a reset
    email      text COLLATE "C", -- of an invitation
    project_id bigint NOT NULL DEFAULT 0, -- of an invitation; 0 = all
    role       bigint NOT NULL DEFAULT 0,
    created_ms bigint NOT NULL,
    expires_ms bigint NOT NULL,
    used_ms    bigint NOT NULL DEFAULT 0
);
CREATE INDEX user_links_user ON user_links (user_id);
