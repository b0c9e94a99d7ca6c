-- What the feature that vouched for a session keeps with it: of an identity provider, the ID token, with
-- which the browser signs out there.

ALTER TABLE sessions ADD COLUMN voucher TEXT NOT NULL DEFAULT '';  -- '': nothing
