/* event_kinds.h - numbers for texts that many events have in common. SQLite only.
 *
 * Version, level, category and source of an event are nearly always those of
 * other events of its tenant. Such a combination is a kind: it is stored once, and
 * events have its number instead (migrations/0049).
 *
 *  1. A kind's row is stored in the transaction of the first event that has its
 *     number, or before it.
 *  2. Kinds are never changed. They go with their tenant, and when no event
 *     has them any more (kinds_sweep.h). So that clients
 *     cannot fill memory or the table with them, a combination gets a number
 *     when it comes a second time, and a tenant has at most
 *     EVENT_KINDS_PER_TENANT. So that tenants cannot fill it for others, the
 *     first EVENT_KINDS_FIRST of each tenant have a bound of their own; all
 *     further ones are EVENT_KINDS_MAX at most. Other events keep their texts.
 *
 * Writer thread only, but for event_kinds_are_many().
 */
#pragma once
#include "base/err.h"
#include "base/str.h"

struct db;
struct event_kinds;
struct event_item;

enum {
    EVENT_KINDS_PER_TENANT = 4096,
    EVENT_KINDS_FIRST = 64,
    EVENT_KINDS_FIRST_MAX = 65536,
    EVENT_KINDS_MAX = 32768,
};

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

/* Any thread. Since the last sweep began, a kind was added or read although half of the room was
 * used, or one found no room. */
bool event_kinds_are_many(const struct event_kinds *k);

/* From now on it is known which kinds are used. *ret_below: greater than all numbers so far. */
int event_kinds_begin_sweep(struct event_kinds *k, struct db *db, int64_t *ret_below,
                            struct error *err) MUST_CHECK;

/* The kinds below a number that events had which were stored before the sweep began. */
struct kinds_used {
    const uint8_t *bits;
    int64_t below_no;
};

/* Drops up to `most` kinds of which neither `used` nor an event since then knows; *ret: how many.
 */
int event_kinds_drop(struct event_kinds *k, struct db *db, const struct kinds_used *used,
                     size_t most, size_t *ret, struct error *err) MUST_CHECK;
