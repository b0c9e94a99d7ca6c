/* failures.h - alerts about failed runs, for tenants that enabled them. */
#pragma once
#include "base/err.h"

struct txn;

/* Stores one alert and one message for each run that the transaction's watched events mark as
 * failed, at most one per run, and one open alert for its agent. Call after the events are stored.
 */
int failures_alert(struct txn *txn, struct error *err) MUST_CHECK;
