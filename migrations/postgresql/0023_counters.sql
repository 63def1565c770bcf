-- Counters of users look random, so that compressing them takes time and saves little; lists of versions
-- read thousands of them.
ALTER TABLE version_days ALTER COLUMN users SET STORAGE EXTERNAL;
ALTER TABLE session_users ALTER COLUMN users SET STORAGE EXTERNAL;
ALTER TABLE session_users ALTER COLUMN crashed SET STORAGE EXTERNAL;
ALTER TABLE session_hours ALTER COLUMN users SET STORAGE EXTERNAL;
-- A row stays in one piece while it fits into a page: to collect 2 kB pieces takes most of the time.
ALTER TABLE version_days SET (toast_tuple_target = 8160);
ALTER TABLE session_users SET (toast_tuple_target = 8160);
ALTER TABLE session_hours SET (toast_tuple_target = 8160);
-- What is there is stored again.
UPDATE version_days SET users = users || ''::bytea WHERE length(users) > 1000;
UPDATE session_users SET users = users || ''::bytea, crashed = crashed || ''::bytea
    WHERE length(users) > 1000 OR length(crashed) > 1000;
UPDATE session_hours SET users = users || ''::bytea WHERE length(users) > 1000;
