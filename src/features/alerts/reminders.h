/* reminders.h - repeats the messages of alerts that stay open and are not acknowledged.
 *
 * Every few seconds the open alerts of tenants that want reminders are checked.
 * Several processes may do so; the one whose statement takes effect sends the
 * message.
 *
 * One thread at a time.
 */
#pragma once
#include "base/err.h"

struct db;
struct reminders;
struct writer;

struct reminders_options {
    struct db *db;         /* a reader, borrowed for each tick only */
    struct writer *writer; /* borrowed */
};

struct reminders *reminders_new(const struct reminders_options *options);

/* After the writer has stopped. NULL is fine. */
void reminders_free(struct reminders *m);

/* Once a second, while the database answers; `raw_us` is monotonic. */
int reminders_tick(struct reminders *m, int64_t wall_us, int64_t raw_us,
                   struct error *err) MUST_CHECK;
