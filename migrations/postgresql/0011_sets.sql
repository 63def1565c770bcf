-- For the end of a set that no report has any more.
CREATE INDEX image_set_items_set ON image_set_items (set_key);
