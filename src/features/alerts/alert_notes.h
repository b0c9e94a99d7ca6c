/* alert_notes.h - the alerts that a transaction opened and closed, published once it is durable.
 *
 * One thread at a time.
 */
#pragma once
#include "base/str.h"

struct alert_row;
struct feed;

struct alert_notes; /* reused for each transaction */

struct alert_notes *alert_notes_new(void);

/* NULL is fine. */
void alert_notes_free(struct alert_notes *notes);

/* The row was opened or closed: copies its current state. Does nothing when `notes` is NULL. */
void alert_notes_add(struct alert_notes *notes, const struct alert_row *row);

/* The same for a row that stays as it is, open or closed, but says something else. */
void alert_notes_add_change(struct alert_notes *notes, const struct alert_row *row);

/* After the commit: counts the opened alerts and publishes all notes to live updates. */
void alert_notes_publish(struct alert_notes *notes, struct feed *feed);

/* After a roll-back, or once published. */
void alert_notes_clear(struct alert_notes *notes);
