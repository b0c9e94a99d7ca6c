/* failures.h - alerts of failed runs, for tenants that want them. */
#pragma once
#include "base/err.h"

struct alert_notes;
struct db;
struct event_item;

/* Of the runs that the watched ones among the items have made fail: one alert and one message each,
 * ever. Within the transaction that stores the items, after that. */
int failures_alert(struct db *db, const struct event_item *items, size_t n,
                   struct alert_notes *notes, struct error *err) MUST_CHECK;
