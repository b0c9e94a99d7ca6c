/* flights.h - the flights that are under way, all in one libcurl handle.
 *
 * Layer: service. May use: base, store, libcurl. One thread but where it says otherwise.
 */
#pragma once
#include "features/webhooks/attempt.h"

struct flights {
    struct flight_options options;
    struct flight *first; /* newest first */
    size_t n;             /* without those that have an owner */

    /* A flight has ended and is not among them any more; whoever is told frees it. */
    void (*ended)(void *ctx, struct flight *f, const struct flight_end *end);
    void *ctx;
};

/* With options.rules, options.mail, ended and ctx set. */
void flights_init(struct flights *all);

/* There are none any more. */
void flights_done(struct flights *all);

/* Takes the flight over. It takes off when it is cleared, or has ended. */
void flights_start(struct flights *all, struct flight *f);

/* Lets them go on, for so long if nothing happens. True when one has ended. */
bool flights_go_on(struct flights *all, int wait_ms);

/* Ends the waiting of flights_go_on(). Any thread. */
void flights_wake(struct flights *all);

/* Takes one out, unended, or gives NULL. The caller frees it. */
struct flight *flights_take(struct flights *all);

/* The newest one of this delivery, or NULL. */
struct flight *flights_find(const struct flights *all, const struct delivery_row *delivery);

/* How many there are of a tenant, and of one of its webhooks; or of its tests. */
struct flights_count {
    size_t of_tenant, of_webhook, tests;
};
struct flights_count flights_count(const struct flights *all, int64_t tenant_id,
                                   struct str webhook_id);
