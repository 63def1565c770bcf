-- Which sealing of its day a column belongs to (fact_days.sealing). Programs of the version before write those columns that they
-- know, and leave others as they are: a column that is new since counts only with the number of its day.
ALTER TABLE fact_columns ADD COLUMN sealing INTEGER NOT NULL DEFAULT 0;
