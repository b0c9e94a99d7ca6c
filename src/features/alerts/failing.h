/* failing.h - failed runs, and what the last runs of an agent say. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "shape/shape.h"

struct txn;

/* Stores one alert and one message for each run that the transaction's watched events mark as
 * failed, at most one per run, and one open alert for its agent. Call after the events are stored.
 */
int failures_alert(struct txn *txn, struct error *err) MUST_CHECK;

/* Of the durations of finished runs, at least one, in ms: by nearest rank, the smallest that this
 * share of them does not exceed. The arena is scratch space. */
int64_t finished_runs_percentile(const struct list *runs, int64_t percentile, struct arena *arena);
