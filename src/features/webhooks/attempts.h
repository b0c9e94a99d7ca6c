/* attempts.h - the attempts in progress, all in one libcurl handle.
 *
 * One thread, except where a comment says otherwise.
 */
#pragma once
#include "features/webhooks/attempt.h"

struct attempts {
    struct attempt_options options;
    struct attempt *first; /* newest first */
    size_t n;              /* without tests, which have an owner */

    /* An attempt has ended and was removed from the list; the callee frees it. */
    void (*ended)(void *ctx, struct attempt *f, const struct attempt_end *end);
    void *ctx;
};

/* With options.rules, options.mail, ended and ctx set. */
void attempts_init(struct attempts *all);

/* The list must be empty. */
void attempts_done(struct attempts *all);

/* Takes ownership of f. It is sent once it is cleared, or has ended on return. */
void attempts_start(struct attempts *all, struct attempt *f);

/* Makes progress, or waits for it up to `wait_ms`. True when one has ended. */
bool attempts_advance(struct attempts *all, int wait_ms);

/* Interrupts the wait in attempts_advance(). Any thread. */
void attempts_wake(struct attempts *all);

/* Cancels an attempt and removes it from the list; NULL when none is left. The caller frees it. */
struct attempt *attempts_pop(struct attempts *all);

/* The newest attempt of this delivery, or NULL. */
struct attempt *attempts_find(const struct attempts *all, const struct delivery_row *delivery);

/* The number of a tenant's attempts, of those to one of its webhooks, and of its tests. */
struct attempts_count {
    size_t of_tenant, of_webhook, tests;
};
struct attempts_count attempts_count(const struct attempts *all, int64_t tenant_id,
                                     struct str webhook_id);
