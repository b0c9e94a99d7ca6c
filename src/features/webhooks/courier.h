/* courier.h - delivers messages to webhooks, on its own thread.
 *
 * A due delivery is claimed in a transaction before it is sent, and its result
 * is stored afterwards: after a crash a message may be sent twice, with the
 * same id, but is never lost. The number of concurrent attempts is limited, in
 * total, per tenant and per webhook, so that a hanging target delays no other.
 */
#pragma once
#include "base/err.h"
#include "features/webhooks/attempts.h"

struct courier;
struct writer;

struct courier_options {
    struct db *db; /* a reader that only the courier uses */
    struct writer *writer;
    struct vault *vault;
    struct attempt_options attempts;
    bool delivers; /* false: only tests are sent */
};

/* A test message or a mail, sent at once, whatever deliveries are pending, and only once. */
struct courier_test {
    struct courier_test *next; /* the courier's */
    int64_t tenant_id;
    struct str webhook_id;
    const struct letter *letter; /* a mail to send instead; NULL: a test of the webhook */

    /* Called exactly once, on the courier's thread. `err` is NULL when an attempt was made; both
     * are borrowed. */
    void (*done)(struct courier_test *test, const struct attempt_end *end, const struct error *err);
};

/* Starts the thread. Borrows everything in the options. The caller owns *ret. */
int courier_new(const struct courier_options *options, struct courier **ret,
                struct error *err) MUST_CHECK;

/* Any thread. ERR_BUSY when too many are pending or the courier is stopping; then done() is not
 * called. */
int courier_submit(struct courier *c, struct courier_test *test, struct error *err) MUST_CHECK;

/* Any thread. Deletes the deliveries of removed webhooks from the next poll on. */
void courier_trim_soon(struct courier *c);

/* Breaks off attempts in progress: their deliveries are due again later. From then on
 * courier_submit() answers ERR_BUSY. */
void courier_stop(struct courier *c);

/* After courier_stop(), when no thread can submit any more. */
void courier_free(struct courier *c);
