/* event_kinds.h - numbers for texts that many events have in common. SQLite only.
 *
 * Version, level, category and source of an event are nearly always those of
 * other events of its tenant. Such a combination is a kind: it is stored once, and
 * events have its number instead (migrations/0049).
 *
 *  1. A kind's row is stored in the transaction of the first event that has its
 *     number, or before it.
 *  2. Kinds are never changed, and go with their tenant only. So that clients
 *     cannot fill memory or the table with them, a combination gets a number
 *     when it comes a second time, a tenant has at most EVENT_KINDS_PER_TENANT,
 *     and a store EVENT_KINDS_MAX. Other events keep their texts.
 *
 * Writer thread only.
 */
#pragma once
#include "base/err.h"
#include "base/str.h"

struct db;
struct event_kinds;
struct event_item;

enum { EVENT_KINDS_PER_TENANT = 4096, EVENT_KINDS_MAX = 32768 };

/* Reads nothing: the kinds are loaded when they are first needed. */
struct event_kinds *event_kinds_new(void);

/* NULL is fine. */
void event_kinds_free(struct event_kinds *k);

/* The number of the event's kind, which this may add; 0: the event keeps its texts. */
int event_kinds_find(struct event_kinds *k, struct db *db, const struct event_item *item,
                     int64_t *ret, struct error *err) MUST_CHECK;

/* The end of the transaction. */
void event_kinds_committed(struct event_kinds *k);
void event_kinds_rolled_back(struct event_kinds *k);
