/* silence.h - watches for agents that fall silent, and has an alert opened for each.
 *
 * Every second the agents that something is expected of are looked through in
 * memory; what the store knows of them is read anew every few seconds, and at
 * once when somebody changed what is expected. Deadlines are monotonic, and
 * never earlier than a full interval and grace after we began to listen: after
 * a start, a step of the wall clock, a pause of the process, or a time without
 * database every agent has its whole allowance again.
 *
 * Whether an alert opens is decided once more in the transaction that opens
 * it, by the row as it is then; several processes agree by the store.
 *
 * One thread at a time but where it says otherwise.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct db;
struct last_seen;
struct silence;
struct writer;

struct silence_options {
    struct db *db; /* a reader; borrowed for each tick only, as the caller's other things */
    struct last_seen *last_seen;
    struct writer *writer; /* borrowed */
    bool shared;           /* others get reports too: what they heard comes a little later */
};

/* The clocks at one moment. */
struct silence_now {
    int64_t wall_us, mono_us;
    int64_t raw_us;          /* monotonic, without what tests add */
    bool healthy;            /* the database answers */
    int64_t registry_number; /* grows when somebody enables, disables or removes an agent */
};

/* The first allowance begins now. */
struct silence *silence_new(const struct silence_options *options, const struct silence_now *now);

/* After the writer has stopped. NULL is fine. */
void silence_free(struct silence *s);

/* Once a second. */
int silence_tick(struct silence *s, const struct silence_now *now, struct error *err) MUST_CHECK;

/* When the last allowance began: monotonic. */
int64_t silence_epoch_us(const struct silence *s);
