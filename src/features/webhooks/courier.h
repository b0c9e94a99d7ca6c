/* courier.h - delivers messages to webhooks, on a thread of its own.
 *
 * What is due is claimed in a transaction before it is sent, and its outcome
 * stored after: a message may be sent twice after a crash, with one id, but is
 * never lost. At most a few attempts run at once and fewer for one webhook, so
 * that a target that hangs holds up nobody else.
 */
#pragma once
#include "base/err.h"
#include "features/webhooks/attempt.h"

struct courier;
struct db;
struct vault;
struct writer;

struct courier_options {
    struct db *db; /* a reader of its own */
    struct writer *writer;
    struct vault *vault;
    struct target_rules rules;
    struct mail_options mail;
    bool delivers; /* else it only makes test flights */
};

/* A test message, at once and beside everything else. */
struct courier_test {
    struct courier_test *next; /* the courier's own */
    int64_t tenant_id;
    struct str webhook_id;

    /* Courier's thread, exactly once. `err` is NULL when an attempt was made; both are borrowed. */
    void (*done)(struct courier_test *test, const struct attempt_end *end, const struct error *err);
};

/* Starts the thread. Borrows what the options name. The caller owns *ret. */
int courier_new(const struct courier_options *options, struct courier **ret,
                struct error *err) MUST_CHECK;

/* Any thread. ERR_BUSY when too many wait or it is stopping; done() is then not called. */
int courier_submit(struct courier *c, struct courier_test *test, struct error *err) MUST_CHECK;

/* Breaks off attempts in progress: their deliveries are due again later. NULL is fine. */
void courier_free(struct courier *c);

/* When a delivery is tried again after `attempts` failures, from 1 on; in microseconds from now,
 * with jitter. 0: it is given up. */
int64_t courier_delay_us(int64_t attempts);
