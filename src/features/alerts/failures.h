/* failures.h - alerts of failed runs, for tenants that want them. */
#pragma once
#include "base/err.h"

struct txn;

/* Of the runs that the watched events of the transaction have made fail: one alert and one message
 * each, ever. After the events were stored. */
int failures_alert(struct txn *txn, struct error *err) MUST_CHECK;
