-- What a job waited for: the next attempt comes the later, the more often it was in vain.
ALTER TABLE jobs ADD COLUMN outages INTEGER NOT NULL DEFAULT 0; -- attempts that failed for want of something around us
