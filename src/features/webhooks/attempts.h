/* attempts.h - the flights that are under way, all in one libcurl handle.
 *
 * One thread but where it says otherwise.
 */
#pragma once
#include "features/webhooks/attempt.h"

struct attempts {
    struct attempt_options options;
    struct attempt *first; /* newest first */
    size_t n;              /* without those that have an owner */

    /* A flight has ended and is not among them any more; whoever is told frees it. */
    void (*ended)(void *ctx, struct attempt *f, const struct attempt_end *end);
    void *ctx;
};

/* With options.rules, options.mail, ended and ctx set. */
void attempts_init(struct attempts *all);

/* There are none any more. */
void attempts_done(struct attempts *all);

/* Takes the flight over. It takes off when it is cleared, or has ended. */
void attempts_start(struct attempts *all, struct attempt *f);

/* Lets them go on, for so long if nothing happens. True when one has ended. */
bool attempts_advance(struct attempts *all, int wait_ms);

/* Ends the waiting of attempts_advance(). Any thread. */
void attempts_wake(struct attempts *all);

/* Takes one out, unended, or gives NULL. The caller frees it. */
struct attempt *attempts_take(struct attempts *all);

/* The newest one of this delivery, or NULL. */
struct attempt *attempts_find(const struct attempts *all, const struct delivery_row *delivery);

/* How many there are of a tenant, and of one of its webhooks; or of its tests. */
struct attempts_count {
    size_t of_tenant, of_webhook, tests;
};
struct attempts_count attempts_count(const struct attempts *all, int64_t tenant_id,
                                     struct str webhook_id);
