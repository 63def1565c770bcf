-- What an issue is about is also said by the newest of its reports. Issues of before get it with their next report.
ALTER TABLE issues ADD COLUMN newest_report INTEGER; -- reports.key; it may be deleted, and the key another report's then
