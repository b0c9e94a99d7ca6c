/* alert_notes.h - which alerts a transaction opened and closed, published once it is durable.
 *
 * One thread at a time.
 */
#pragma once
#include "base/str.h"

struct alert_row;
struct feed;

struct alert_notes; /* of one transaction after the other */

struct alert_notes *alert_notes_new(void);

/* NULL is fine. */
void alert_notes_free(struct alert_notes *notes);

/* The row as it is now. NULL notes: not published. */
void alert_notes_add(struct alert_notes *notes, const struct alert_row *row);

/* The transaction is durable: counts what opened, and publishes all to live updates. */
void alert_notes_publish(struct alert_notes *notes, struct feed *feed);

/* After a roll-back, or once published. */
void alert_notes_clear(struct alert_notes *notes);
