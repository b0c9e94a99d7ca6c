/* silence.h - opens an alert when an agent falls silent, and closes it when it is back.
 *
 * Every second the agents with an expected interval are checked in memory.
 * The rows of those that may be late soon are read from the store every few
 * seconds, and at once when a change is noticed. Deadlines use the monotonic
 * clock and are never earlier than a full interval and grace after the epoch,
 * which begins again after a start, a step of the wall clock, a pause of the
 * process, or an outage of the database.
 *
 * The transaction that opens an alert checks the agent's row once more, under
 * a lock; so several processes open only one.
 *
 * One thread at a time.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct db;
struct agent_cache;
struct silence;
struct tick;
struct writer;

struct silence_options {
    struct db *db; /* a reader, borrowed for each tick only */
    struct agent_cache *cache;
    struct writer *writer; /* borrowed */
    bool shared;           /* other processes receive reports too, and store them a little later */
};

/* The epoch begins now. */
struct silence *silence_new(const struct silence_options *options, const struct tick *now);

/* After the writer has stopped. NULL is fine. */
void silence_free(struct silence *s);

/* Once a second. */
int silence_tick(struct silence *s, const struct tick *now, struct error *err) MUST_CHECK;

/* Start of the current epoch, monotonic: no alert counts silence from before it. */
int64_t silence_epoch_us(const struct silence *s);
