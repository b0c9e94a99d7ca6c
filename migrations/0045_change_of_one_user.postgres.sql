-- Whom the last change of users, roles and sessions was about, if of one user alone: a process that
-- knows the number before it loads only this user. Holds while about_number is the number: a change
-- that does not say it only changes the number.

ALTER TABLE change_numbers ADD COLUMN about        TEXT    NOT NULL DEFAULT '';  -- '': several
ALTER TABLE change_numbers ADD COLUMN about_number BIGINT  NOT NULL DEFAULT 0;
