/* reads.h - reads the agents that may fall silent, a portion of all agents at a time.
 *
 * Every few seconds from the first to the last, and sooner after a change. A
 * read is followed by a rest of ten times as long as it took.
 *
 * One thread at a time.
 */
#pragma once
#include <stdbool.h>

#include "features/alerts/silence/portions.h"

struct last_seen;
struct silence_now;
struct watched_agents;

struct reads_options {
    struct db *db;
    struct last_seen *last_seen;
    struct watched_agents *watched; /* which is filled */
    int64_t portion;                /* agents that a read looks at, at most; 0: as many as usual */
};

struct reads {
    struct reads_options options;
    struct portions portions;
    bool loaded;      /* all portions were read since it began, but for those that failed */
    bool awaited;     /* all silent agents are, since it began */
    bool stale;       /* something was changed since the first portion was read */
    bool failed;      /* the last read */
    bool whole;       /* it was of all agents */
    bool cut;         /* portions became smaller, since the first one */
    int64_t first_us; /* the first portion was due, by the monotonic clock */
    int64_t read_us;  /* the last read began, by the same */
    int64_t took_us;  /* and took, by the raw clock */
    int64_t rest_us;  /* until the next one, at least */
    int64_t sum_us;   /* the rests since the first portion, with a second of a tick for each */
    int64_t all_us;   /* what all portions took the last time, with the rests; 0: not known */
};

void reads_init(struct reads *r, const struct reads_options *options);

/* Forgets what was read. */
void reads_begin_again(struct reads *r);

/* Something was changed: all are read again, as soon as the rests allow. */
void reads_ask(struct reads *r);

/* Can what is in memory be judged? Not after a read of all agents that failed. */
bool reads_are_known(const struct reads *r);

/* Once a second: reads a portion if it is time. */
int reads_tick(struct reads *r, const struct silence_now *now, struct error *err) MUST_CHECK;
