-- Each sealing of a day has a number of its own, under which servers keep its columns in memory.
ALTER TABLE fact_days ADD COLUMN sealing INTEGER NOT NULL DEFAULT 0;
UPDATE fact_days SET sealing = random();
