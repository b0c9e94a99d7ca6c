/* alert_notes.h - which alerts a transaction opened and closed, told once it is durable.
 *
 * One thread at a time.
 */
#pragma once
#include "base/arena.h"
#include "base/str.h"

struct alert_row;
struct feed;

/* Embedded by what the jobs of a transaction share. */
struct alert_notes {
    struct arena arena;
    struct alert_note *first, **end;
    size_t n;
};

void alert_notes_init(struct alert_notes *notes);
void alert_notes_done(struct alert_notes *notes);

/* The row as it is now. NULL notes: nobody wants to know. */
void alert_notes_add(struct alert_notes *notes, const struct alert_row *row);

/* The transaction is durable: counts what opened, and tells those who listen. */
void alert_notes_publish(struct alert_notes *notes, struct feed *feed);

/* It is not, or has been told. */
void alert_notes_clear(struct alert_notes *notes);
