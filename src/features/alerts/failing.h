/* failing.h - one open alert per agent whose runs fail, with how many of its last runs did.
 *
 * The alert opens with the event that makes a run fail, in its transaction, if of
 * the agent's last twenty runs at least three and a fifth failed. Every few seconds
 * the open ones are compared with the agents' last runs: their numbers are updated,
 * and an alert closes when less than a tenth failed.
 *
 * One thread at a time.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "shape/shape.h"

struct event_item;
struct txn;

/* The event, stored in this transaction, made a run fail; it is of the nth agent, from 0 on. Only
 * of the first agents an open alert is brought up to date here, and more than their newest runs are
 * looked at. The arena is scratch space. */
int failing_note(struct txn *txn, const struct event_item *item, size_t nth, struct arena *arena,
                 struct error *err) MUST_CHECK;

/* Stores one alert and one message for each run that the transaction's watched events mark as
 * failed, at most one per run, and one open alert for its agent. Call after the events are stored.
 */
int failures_alert(struct txn *txn, struct error *err) MUST_CHECK;

/* Of the durations of finished runs, at least one, in ms: by nearest rank, the smallest that this
 * share of them does not exceed. The arena is scratch space. */
int64_t finished_runs_percentile(const struct list *runs, int64_t percentile, struct arena *arena);
