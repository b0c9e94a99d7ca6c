/* mutes.h - when an agent is muted no more, tells of its alerts that are still open.
 *
 * An alert that opens while its agent is muted is told to nobody. Whoever muted it until a time
 * wants to know then what is wrong: every few seconds the open alerts that nobody was told of are
 * looked through, and those whose mute has ended are told.
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
