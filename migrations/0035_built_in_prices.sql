-- Prices that come from the list built into the program, and whether a database gets that list: only
-- a new one does, at its first start.

-- the date of that list; NULL: a person's price
ALTER TABLE prices ADD COLUMN built_in_as_of INTEGER;

-- 0: to be added, 1: added, or not wanted
INSERT INTO change_numbers (topic, number)
SELECT 'built_in_prices',
       CASE WHEN EXISTS (SELECT 1 FROM tenants) OR EXISTS (SELECT 1 FROM users)
                 OR EXISTS (SELECT 1 FROM prices) THEN 1 ELSE 0 END;
