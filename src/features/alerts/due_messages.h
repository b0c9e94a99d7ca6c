/* due_messages.h - sends messages of open alerts that have become due.
 *
 * An alert that opens while its agent is muted sends no message: it is due when the mute ends. The
 * message of an alert that stays open and is not acknowledged is due again where the tenant wants
 * reminders. Both are looked for every few seconds. Several processes may do so; the one whose
 * statement takes effect sends the message.
 *
 * One thread at a time.
 */
#pragma once
#include "base/err.h"

struct db;
struct due_messages;
struct writer;

/* Borrows both: `db` is a reader, used by each tick only. */
struct due_messages *due_messages_new(struct db *db, struct writer *writer);

/* After the writer has stopped. NULL is fine. */
void due_messages_free(struct due_messages *m);

/* Once a second, while the database answers; `raw_us` is monotonic. */
int due_messages_tick(struct due_messages *m, int64_t wall_us, int64_t raw_us,
                      struct error *err) MUST_CHECK;
