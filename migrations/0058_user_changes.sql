-- Which user each of the last changes of users, roles and sessions was about, in the slot of its number: NULL when it
-- did not say, '' when it was about several. A process that has loaded the changes up to a number loads the users of
-- those that follow, and all users when one of those does not say or is missing (features/access/users/users_store.h).

CREATE TABLE user_changes (
    slot   INTEGER NOT NULL PRIMARY KEY,
    number INTEGER NOT NULL,
    about  TEXT
) STRICT;
