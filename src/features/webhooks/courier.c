/* courier.c - claims due deliveries, sends them and stores the results. */
#include "features/webhooks/courier.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "engine/sync_job.h"
#include "features/vault/vault.h"
#include "features/webhooks/attempts.h"
#include "features/webhooks/forget.h"
#include "features/webhooks/outbox.h"
#include "features/webhooks/shapes.h"

enum {
    ATTEMPTS_MAX = 64,       /* in progress; tests are counted apart */
    ATTEMPTS_PER_TENANT = 8, /* so that hanging targets do not hold up other tenants */
    ATTEMPTS_PER_WEBHOOK = 2,
    TESTS_MAX = 16,       /* queued or in progress */
    TESTS_PER_TENANT = 4, /* in progress */
    PERIOD_MS = 200,
    FAN_OUT_STEPS = 20, /* per poll; each is a job of the writer */
    FAN_OUT_US = 20000, /* of the writer in PERIOD_MS: events wait for it, too */
    STEP_S = 2, /* allowed drift between wall and monotonic clock from one poll to the next */
    RETRY_AFTER_MAX_S = 86400,
};

struct courier {
    struct courier_options options;
    struct attempts attempts;
    int64_t polled_us; /* monotonic */
    struct forgetting forgetting;
    bool released;                /* deliveries scheduled before the clock was set back */
    int64_t offset_us;            /* wall minus monotonic clock, at the last poll */
    int64_t fan_out_after;        /* the tenant whose messages were fanned out last */
    int64_t fan_out_us, spent_us; /* raw clock: when a period began, and the writer's time since */
    bool failing;                 /* the database; logged once */

    pthread_t thread;
    struct lock lock;
    struct courier_test *tests GUARDED_BY(lock);
    size_t n_tests GUARDED_BY(lock);
    bool stopping GUARDED_BY(lock);
};

/* Ten attempts over three days: seconds before each attempt after the first. */
static const int64_t delays_s[] = { 5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 72000 };

int64_t courier_delay_us(int64_t attempts)
{
    int64_t seconds;

    if (attempts < 1 || attempts > (int64_t)COUNT_OF(delays_s))
        return 0;
    seconds = delays_s[attempts - 1];
    return seconds * USEC_PER_SEC +
           (int64_t)digest_random_below((uint32_t)(seconds * 100)) * USEC_PER_MSEC; /* up to 10 % */
}

/* Decrypts one of the webhook's secrets. */
static int open_secret(struct courier *c, struct attempt *f, struct str sealed, struct error *err)
{
    const struct vault_label label = { WEBHOOK_KIND, f->webhook.tenant_id, f->webhook.webhook_id,
                                       1 };
    struct buf text;
    int r;

    buf_init(&text, MIB(1));
    r = vault_open(c->options.vault, c->options.db, &label, sealed, &text, err);
    if (r == 0 && text.len != WEBHOOK_SECRET_LEN)
        r = err_set(err, ERR_SCHEMA, "stored webhook secret has the wrong length");
    if (r == 0)
        memcpy(f->secrets[f->n_secrets++], text.data, WEBHOOK_SECRET_LEN);
    vault_wipe(&text);
    return r;
}

static int open_secrets(struct courier *c, struct attempt *f, struct error *err)
{
    bool has_old = !str_is_null(f->webhook.old_secret) && f->webhook.old_until > clock_wall_us();

    if (f->webhook.secret.len == 0 && f->webhook.format != WEBHOOK_STANDARD)
        return 0; /* after a reset of the vault: goes unsigned */
    if (open_secret(c, f, f->webhook.secret, err) != 0)
        return -1;
    return has_old ? open_secret(c, f, f->webhook.old_secret, err) : 0;
}

struct outcome {
    struct delivery_row delivery;
    int64_t again_at; /* next_at of the claim */
    bool gone;
};

static int store_outcome(void *ctx, struct db *db, struct error *err)
{
    const struct outcome *o = ctx;

    if (store_delivery_set(db, &o->delivery, o->again_at, err) != 0)
        return -1;
    return o->gone ? store_webhook_disable(db, o->delivery.tenant_id, o->delivery.webhook_id, err)
                   : 0;
}

/* The next attempt: the later of the schedule and the target's Retry-After. */
static int64_t next_at(const struct delivery_row *d, const struct attempt_end *end, int64_t now)
{
    int64_t delay_us = courier_delay_us(d->attempts), asked_s = end->retry_after_s;

    if (delay_us == 0 || end->final)
        return TIME_NULL;
    asked_s = asked_s < RETRY_AFTER_MAX_S ? asked_s : RETRY_AFTER_MAX_S;
    return now + (delay_us > asked_s * USEC_PER_SEC ? delay_us : asked_s * USEC_PER_SEC);
}

/* If it cannot be stored, the delivery is due again when its lease expires. */
static void store_delivery_result(struct courier *c, struct attempt *f,
                                  const struct attempt_end *end)
{
    struct outcome o = { .delivery = f->delivery,
                         .again_at = f->delivery.next_at,
                         .gone = end->gone };
    int64_t now = clock_wall_us();
    struct error err = { 0 };

    assert(f->delivery.state == DELIVERY_WAITING); /* only those are claimed, and end once */
    o.delivery.last_at = now;
    o.delivery.last_status = end->status;
    o.delivery.last_ms = (struct opt_int){ true, end->ms };
    o.delivery.last_error = end->error == NULL ? STR_NULL : str_of(end->error);
    o.delivery.next_at = end->delivered ? TIME_NULL : next_at(&f->delivery, end, now);
    o.delivery.state = DELIVERY_WAITING;
    if (end->delivered)
        o.delivery.state = DELIVERY_DELIVERED;
    else if (o.delivery.next_at == TIME_NULL)
        o.delivery.state = DELIVERY_DEAD;
    assert((o.delivery.state == DELIVERY_WAITING) == (o.delivery.next_at != TIME_NULL));
    if (writer_run_sync(c->options.writer, store_outcome, &o, &err) != 0)
        log_write(LOG_WARNING, "webhook", "cannot store the result of a delivery: %s", err.text);
}

static void end_test(struct courier *c, struct courier_test *test, const struct attempt_end *end,
                     const struct error *err)
{
    lock_acquire(&c->lock);
    assert(c->n_tests > 0);
    c->n_tests--;
    lock_release(&c->lock);
    test->done(test, end, err);
}

/* Answers the test or stores the result, and frees the attempt. */
static void attempt_ended(void *ctx, struct attempt *f, const struct attempt_end *end)
{
    struct courier *c = ctx;
    struct courier_test *test = f->owner;

    assert(thread_may_be("muster-courier"));
    if (test != NULL)
        end_test(c, test, end, NULL);
    else
        store_delivery_result(c, f, end);
    attempt_free(f);
}

/* May another attempt for this webhook begin? */
static bool has_room(const struct courier *c, const struct due_webhook *due, size_t of_tenant_max)
{
    struct attempts_count n = attempts_count(&c->attempts, due->tenant_id, due->webhook_id);

    return c->attempts.n < ATTEMPTS_MAX && n.of_tenant < of_tenant_max &&
           n.of_webhook < ATTEMPTS_PER_WEBHOOK;
}

struct claiming {
    const struct due_webhook *due;
    struct attempt *attempt;
};

static int claim_delivery(void *ctx, struct db *db, struct error *err)
{
    struct claiming *claiming = ctx;
    struct attempt *f = claiming->attempt;

    return store_delivery_claim(db, claiming->due, clock_wall_us(), &f->arena, &f->delivery, err);
}

static struct attempt *new_attempt(void)
{
    struct attempt *f = NEW(struct attempt);

    arena_init(&f->arena);
    return f;
}

/* If the clock was set, the lease of a delivery may expire while its attempt is in progress: that
 * attempt then continues under the new lease. A manual retry resets the number of attempts and is
 * a new attempt, and so is what follows it: its result was stored since. */
static bool renew_lease(struct courier *c, const struct delivery_row *claimed)
{
    struct attempt *f = attempts_find(&c->attempts, claimed);

    if (f == NULL || claimed->attempts <= f->delivery.attempts ||
        claimed->last_at != f->delivery.last_at)
        return false;
    f->delivery.attempts = claimed->attempts;
    f->delivery.next_at = claimed->next_at;
    return true;
}

/* Claims one delivery of the webhook, if one is still due, and starts it. */
static int send_one(struct courier *c, const struct due_webhook *due, bool *ret_claimed,
                    struct error *err)
{
    struct claiming claiming = { .due = due, .attempt = new_attempt() };
    struct attempt *f = claiming.attempt;
    struct db *db = c->options.db;
    int r = writer_run_sync(c->options.writer, claim_delivery, &claiming, err);

    *ret_claimed = r == 0 && !str_is_null(f->delivery.delivery_id);
    if (!*ret_claimed || renew_lease(c, &f->delivery)) { /* another process may have claimed it */
        attempt_free(f);
        return r;
    }
    if (store_webhook(db, due->tenant_id, due->webhook_id, &f->arena, &f->webhook, err) != 0 ||
        (f->webhook.enabled && open_secrets(c, f, err) != 0)) {
        attempt_ended(c, f,
                      &(struct attempt_end){ .final = err->code == ERR_NOT_FOUND, /* removed */
                                             .error = err->text });
        return 0;
    }
    if (!f->webhook.enabled) { /* disabled while the message was stored */
        attempt_ended(c, f,
                      &(struct attempt_end){ .final = true, .error = "the webhook is disabled" });
        return 0;
    }
    attempts_start(&c->attempts, f);
    return 0;
}

static int send_round(struct courier *c, const struct list *webhooks, size_t of_tenant_max,
                      struct error *err)
{
    const struct due_webhook *due = webhooks->items;

    for (size_t i = 0; i < webhooks->n; i++) {
        bool claimed = true;

        for (int k = 0; k < ATTEMPTS_PER_WEBHOOK && claimed && has_room(c, &due[i], of_tenant_max);
             k++)
            if (send_one(c, &due[i], &claimed, err) != 0)
                return -1;
    }
    return 0;
}

/* Tenants without an attempt in progress come first, however much is due for others. */
static int send_due(struct courier *c, struct error *err)
{
    ARENA_SCOPED(arena);
    struct list due;

    if (store_deliveries_due(c->options.db, clock_wall_us(), &arena, &due, err) != 0 ||
        send_round(c, &due, 1, err) != 0 || send_round(c, &due, ATTEMPTS_PER_TENANT, err) != 0)
        return -1;
    return 0;
}

static int fan_out_tenant(void *ctx, struct db *db, struct error *err)
{
    struct courier *c = ctx;
    int64_t began_us = clock_raw_us();
    int r = outbox_fan_out(db, c->fan_out_after, err);

    c->spent_us += clock_raw_us() - began_us;
    return r;
}

/* Adds the deliveries of pending messages; tenants take turns. */
static int fan_out(struct courier *c, struct error *err)
{
    if (clock_raw_us() - c->fan_out_us >= (int64_t)PERIOD_MS * USEC_PER_MSEC) {
        c->fan_out_us = clock_raw_us();
        c->spent_us = 0;
    }
    for (int i = 0; i < FAN_OUT_STEPS && c->spent_us < FAN_OUT_US; i++) {
        int64_t before = c->fan_out_after;

        if (store_messages_next_tenant(c->options.db, before, &c->fan_out_after, err) != 0)
            return -1;
        if (c->fan_out_after == 0 && before == 0)
            return 0;
        if (c->fan_out_after != 0 &&
            writer_run_sync(c->options.writer, fan_out_tenant, c, err) != 0)
            return -1;
    }
    return 0;
}

static int release_deliveries(void *ctx, struct db *db, struct error *err)
{
    (void)ctx;
    return store_deliveries_release(db, clock_wall_us(), err);
}

/* At the start, and when the wall clock was set back. */
static int release_planned(struct courier *c, struct error *err)
{
    const struct clock_times now = clock_times();
    int64_t offset_us = now.wall_us - now.mono_us;

    if (offset_us < c->offset_us - (int64_t)STEP_S * USEC_PER_SEC)
        c->released = false;
    c->offset_us = offset_us;
    if (c->released)
        return 0;
    if (writer_run_sync(c->options.writer, release_deliveries, NULL, err) != 0)
        return -1;
    c->released = true;
    return 0;
}

/* Every PERIOD_MS, and when an attempt has ended. A database that is unavailable is logged once. */
static void poll_due(struct courier *c)
{
    struct error err = { 0 };
    bool failing;

    if (!c->options.delivers || clock_mono_us() - c->polled_us < (int64_t)PERIOD_MS * USEC_PER_MSEC)
        return;
    c->polled_us = clock_mono_us();
    failing = (c->failing && db_ping(c->options.db, &err) != 0) || release_planned(c, &err) != 0 ||
              fan_out(c, &err) != 0 || send_due(c, &err) != 0;
    if (failing && !c->failing)
        log_write(LOG_WARNING, "webhook", "deliveries are paused: %s", err.text);
    c->failing = failing;
    if (!failing)
        forgetting_step(&c->forgetting, c->options.db, c->options.writer);
}

static void start_test(struct courier *c, struct courier_test *test)
{
    struct attempt *f = new_attempt();
    struct error err = { 0 };
    char digits[24];

    if (attempts_count(&c->attempts, test->tenant_id, test->webhook_id).tests >= TESTS_PER_TENANT) {
        err_set(&err, ERR_BUSY, "too many webhook tests are in progress; retry later");
        end_test(c, test, NULL, &err);
        attempt_free(f);
        return;
    }
    f->owner = test;
    f->letter = test->letter;
    f->webhook.tenant_id = test->tenant_id;
    digest_random_base62(digits, sizeof(digits));
    f->delivery.message = (struct message_row){
        .tenant_id = test->tenant_id,
        .message_id = arena_printf(&f->arena, "msg_%.*s", (int)sizeof(digits), digits),
        .type = STR_LIT("test"),
        .created_at = clock_wall_us(),
        .data = STR_LIT("{\"summary\":\"A test message from muster\"}"),
    };
    if (f->letter == NULL && (store_webhook(c->options.db, test->tenant_id, test->webhook_id,
                                            &f->arena, &f->webhook, &err) != 0 ||
                              open_secrets(c, f, &err) != 0)) {
        end_test(c, test, NULL, &err);
        attempt_free(f);
        return;
    }
    attempts_start(&c->attempts, f);
}

/* True when the courier is stopping. */
static bool start_tests(struct courier *c)
{
    struct courier_test *tests, *next;
    bool stopping;

    lock_acquire(&c->lock);
    tests = c->tests;
    c->tests = NULL;
    stopping = c->stopping;
    lock_release(&c->lock);
    for (; tests != NULL; tests = next) {
        next = tests->next;
        start_test(c, tests);
    }
    return stopping;
}

/* Tests are answered with an error; deliveries are due again when their lease expires. */
static void cancel_attempts(struct courier *c)
{
    const struct error stopping = { .code = ERR_BUSY, .text = "the service is stopping" };

    struct attempt *f;

    while ((f = attempts_pop(&c->attempts)) != NULL) {
        if (f->owner != NULL)
            end_test(c, f->owner, NULL, &stopping);
        attempt_free(f);
    }
}

static void *courier_thread(void *arg)
{
    struct courier *c = arg;

    thread_begin("muster-courier", THREAD_PLAIN);
    while (!start_tests(c)) {
        poll_due(c);
        if (attempts_advance(&c->attempts, PERIOD_MS))
            c->polled_us = 0; /* another attempt may start */
    }
    cancel_attempts(c);
    return NULL;
}

int courier_new(const struct courier_options *options, struct courier **ret, struct error *err)
{
    const struct clock_times now = clock_times();
    struct courier *c = NEW(struct courier);

    c->options = *options;
    forgetting_init(&c->forgetting, now.mono_us);
    c->offset_us = now.wall_us - now.mono_us;
    c->attempts = (struct attempts){ .options = { .rules = options->rules,
                                                  .mail = options->mail,
                                                  .public_url = options->public_url },
                                     .ended = attempt_ended,
                                     .ctx = c };
    attempts_init(&c->attempts);
    lock_init(&c->lock);
    if (pthread_create(&c->thread, NULL, courier_thread, c) != 0) {
        attempts_done(&c->attempts);
        free(c);
        return err_set(err, ERR_INTERNAL, "cannot start the courier's thread");
    }
    *ret = c;
    return 0;
}

int courier_submit(struct courier *c, struct courier_test *test, struct error *err)
{
    int r = -1;

    lock_acquire(&c->lock);
    if (c->stopping || c->n_tests >= TESTS_MAX) {
        err_set(err, ERR_BUSY, "too many webhook tests are pending, or the service is stopping");
    } else {
        test->next = c->tests;
        c->tests = test;
        c->n_tests++;
        r = 0;
    }
    lock_release(&c->lock);
    if (r == 0)
        attempts_wake(&c->attempts);
    return r;
}

void courier_forget_soon(struct courier *c)
{
    atomic_store(&c->forgetting.asked, true);
}

void courier_stop(struct courier *c)
{
    lock_acquire(&c->lock);
    c->stopping = true;
    lock_release(&c->lock);
    attempts_wake(&c->attempts);
    pthread_join(c->thread, NULL);
}

void courier_free(struct courier *c)
{
    attempts_done(&c->attempts);
    lock_done(&c->lock);
    free(c);
}
