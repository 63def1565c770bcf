-- What was detected when the report came in; NULL: the format is detected again.
ALTER TABLE jobs ADD COLUMN reader TEXT;
