-- Room in each page of runs for the next states of its rows: a state that is stored in the page of the one
-- before needs no new entries in the indexes (HOT). Pages that are full stay as they are.

ALTER TABLE runs SET (fillfactor = 70);
