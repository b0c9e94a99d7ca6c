/* mutes.h - sends the messages of open alerts when their agent's mute ends.
 *
 * An alert that opens while its agent is muted sends no message. Every few
 * seconds the open alerts without a message are checked, and those whose mute
 * has ended are sent.
 *
 * One thread at a time.
 */
#pragma once
#include "base/err.h"

struct db;
struct mutes;
struct writer;

struct mutes_options {
    struct db *db;         /* a reader, borrowed for each tick only */
    struct writer *writer; /* borrowed */
};

struct mutes *mutes_new(const struct mutes_options *options);

/* After the writer has stopped. NULL is fine. */
void mutes_free(struct mutes *m);

/* Once a second, while the database answers; `raw_us` is monotonic. */
int mutes_tick(struct mutes *m, int64_t wall_us, int64_t raw_us, struct error *err) MUST_CHECK;
