-- A webhook with many deliveries is removed at once, and its deliveries follow in steps.

ALTER TABLE webhooks ADD COLUMN removed INTEGER NOT NULL DEFAULT 0; -- 1: nobody sees it any more
