/* courier.c - claims due deliveries, sends them and stores the results. */
#include "features/webhooks/courier.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "engine/writer.h"
#include "features/vault/vault.h"
#include "features/webhooks/attempts.h"
#include "features/webhooks/outbox.h"
#include "features/webhooks/shapes.h"

enum {
    ATTEMPTS_MAX = 64,       /* in progress; tests are counted apart */
    ATTEMPTS_PER_TENANT = 8, /* so that hanging targets do not hold up other tenants */
    ATTEMPTS_PER_WEBHOOK = 2,
    TESTS_MAX = 16,       /* queued or in progress */
    TESTS_PER_TENANT = 4, /* in progress */
    PERIOD_MS = 200,
    FAN_OUT_STEPS = 20, /* per turn, each of one tenant */
    FAN_OUT_US = 20000, /* of the writer per turn: events wait for it, too */
    STEP_S = 2, /* allowed drift between wall and monotonic clock from one poll to the next */
    RETRY_AFTER_MAX_S = 86400,
    KEEP_S = 30 * 86400, /* finished deliveries */
    TRIM_PERIOD_S = 60,  /* between rounds over all webhooks */
    WEBHOOKS_PER_STEP = 10,
};

/* A round deletes in small steps: old deliveries first, and then, over all webhooks, what is left
 * of removed ones, and of others the deliveries that are more than are kept. */
struct trim_round {
    int64_t began_us; /* monotonic */
    bool runs;
    bool old;          /* there may be old deliveries */
    int64_t tenant_id; /* the last webhook that is done */
    char webhook_id[64];
};

struct courier {
    struct courier_options options;
    struct attempts attempts;
    int64_t polled_us; /* monotonic */
    struct trim_round trim;
    _Atomic bool trim_soon;
    bool released;         /* deliveries scheduled before the clock was set back */
    int64_t offset_us;     /* wall minus monotonic clock, at the last poll */
    int64_t fan_out_after; /* the tenant whose messages were fanned out last */
    int64_t fan_out_us;    /* raw clock: the last turn that fanned out */
    int singly;            /* turns left that are of one tenant each, after a failure */
    bool failing;          /* the database; logged once */

    pthread_t thread;
    struct lock lock;
    struct courier_test *tests GUARDED_BY(lock);
    size_t n_tests GUARDED_BY(lock);
    bool stopping GUARDED_BY(lock);
};

/* Ten attempts over three days: seconds before each attempt after the first. */
static const int64_t delays_s[] = { 5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 72000 };

/* The delay before the next attempt after `attempts` (>= 1) failures, in microseconds, with jitter.
 * 0: no further attempt. */
static int64_t delay_us_after(int64_t attempts)
{
    int64_t seconds;

    if (attempts < 1 || attempts > (int64_t)COUNT_OF(delays_s))
        return 0;
    seconds = delays_s[attempts - 1];
    return seconds * USEC_PER_SEC +
           (int64_t)digest_random_below((uint32_t)(seconds * 100)) * USEC_PER_MSEC; /* up to 10 % */
}

/* Decrypts one of the webhook's secrets. */
static int open_secret(struct courier *c, struct attempt *a, struct str sealed, struct error *err)
{
    const struct vault_label label = { WEBHOOK_KIND, a->webhook.tenant_id, a->webhook.webhook_id,
                                       1 };
    struct buf text;
    int r;

    buf_init(&text, MIB(1));
    r = vault_open(c->options.vault, c->options.db, &label, sealed, &text, err);
    if (r == 0 && text.len != WEBHOOK_SECRET_LEN)
        r = err_set(err, ERR_SCHEMA, "stored webhook secret has the wrong length");
    if (r == 0)
        memcpy(a->secrets[a->n_secrets++], text.data, WEBHOOK_SECRET_LEN);
    vault_wipe(&text);
    return r;
}

static int open_secrets(struct courier *c, struct attempt *a, struct error *err)
{
    bool has_old = !str_is_null(a->webhook.old_secret) && a->webhook.old_until > clock_wall_us();

    if (a->webhook.secret.len == 0 && a->webhook.format != WEBHOOK_STANDARD)
        return 0; /* after a reset of the vault: goes unsigned */
    if (open_secret(c, a, a->webhook.secret, err) != 0)
        return -1;
    return has_old ? open_secret(c, a, a->webhook.old_secret, err) : 0;
}

struct outcome {
    struct delivery_row delivery;
    int64_t again_at; /* next_at of the claim */
    bool gone;
};

static int store_outcome(void *ctx, struct db *db, struct error *err)
{
    const struct outcome *o = ctx;

    if (delivery_store_set(db, &o->delivery, o->again_at, err) != 0)
        return -1;
    return o->gone ? webhook_store_disable(db, o->delivery.tenant_id, o->delivery.webhook_id, err)
                   : 0;
}

/* The next attempt: the later of the schedule and the target's Retry-After. */
static int64_t next_at(const struct delivery_row *d, const struct attempt_end *end, int64_t now)
{
    int64_t delay_us = delay_us_after(d->attempts), asked_s = end->retry_after_s;

    if (delay_us == 0 || end->final)
        return TIME_NULL;
    asked_s = asked_s < RETRY_AFTER_MAX_S ? asked_s : RETRY_AFTER_MAX_S;
    return now + (delay_us > asked_s * USEC_PER_SEC ? delay_us : asked_s * USEC_PER_SEC);
}

/* If it cannot be stored, the delivery is due again when its lease expires. */
static void store_delivery_result(struct courier *c, struct attempt *a,
                                  const struct attempt_end *end)
{
    struct outcome o = { .delivery = a->delivery,
                         .again_at = a->delivery.next_at,
                         .gone = end->gone };
    int64_t now = clock_wall_us();
    struct error err = { 0 };

    assert(a->delivery.state == DELIVERY_WAITING); /* only those are claimed, and end once */
    o.delivery.last_at = now;
    o.delivery.last_status = end->status;
    o.delivery.last_ms = (struct opt_int){ true, end->ms };
    o.delivery.last_error = end->error == NULL ? STR_NULL : str_of(end->error);
    o.delivery.next_at = end->delivered ? TIME_NULL : next_at(&a->delivery, end, now);
    o.delivery.state = DELIVERY_WAITING;
    if (end->delivered)
        o.delivery.state = DELIVERY_DELIVERED;
    else if (o.delivery.next_at == TIME_NULL)
        o.delivery.state = DELIVERY_DEAD;
    assert((o.delivery.state == DELIVERY_WAITING) == (o.delivery.next_at != TIME_NULL));
    if (writer_run_and_wait(c->options.writer, store_outcome, &o, &err) != 0)
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
static void attempt_ended(void *ctx, struct attempt *a, const struct attempt_end *end)
{
    struct courier *c = ctx;
    struct courier_test *test = a->owner;

    assert(thread_may_be("muster-courier"));
    if (test != NULL)
        end_test(c, test, end, NULL);
    else
        store_delivery_result(c, a, end);
    attempt_free(a);
}

static struct attempt *new_attempt(void)
{
    struct attempt *a = NEW(struct attempt);

    arena_init(&a->arena);
    return a;
}

/* If the clock was set, the lease of a delivery may expire while its attempt is in progress: that
 * attempt then continues under the new lease. A manual retry resets the number of attempts and is
 * a new attempt, and so is what follows it: its result was stored since. */
static bool renew_lease(struct courier *c, const struct delivery_row *claimed)
{
    struct attempt *a = attempts_find(&c->attempts, claimed);

    if (a == NULL || claimed->attempts <= a->delivery.attempts ||
        claimed->last_at != a->delivery.last_at)
        return false;
    a->delivery.attempts = claimed->attempts;
    a->delivery.next_at = claimed->next_at;
    return true;
}

/* A delivery that a turn has claimed. */
struct claim {
    const struct due_webhook *due;
    struct str delivery_id;
};

/* What the courier does in one transaction: it adds the deliveries of pending messages, and claims
 * deliveries that are due, its own ones too. */
struct turn {
    struct courier *courier;
    struct arena arena;
    bool fanned_out;
    int64_t fan_out_after;
    struct claim claims[ATTEMPTS_MAX];
    size_t n_claims;
};

/* How many more attempts for this webhook may begin? */
static size_t count_room(const struct turn *t, const struct due_webhook *due, size_t of_tenant_max)
{
    const struct attempts *attempts = &t->courier->attempts;
    struct attempts_count n = attempts_count(attempts, due->tenant_id, due->webhook_id);
    size_t room = ATTEMPTS_MAX - attempts->n - t->n_claims;

    for (size_t i = 0; i < t->n_claims; i++) {
        const bool of_tenant = t->claims[i].due->tenant_id == due->tenant_id;

        n.of_tenant += of_tenant;
        n.of_webhook += of_tenant && str_eq(t->claims[i].due->webhook_id, due->webhook_id);
    }
    if (n.of_tenant >= of_tenant_max || n.of_webhook >= ATTEMPTS_PER_WEBHOOK)
        return 0;
    if (room > of_tenant_max - n.of_tenant)
        room = of_tenant_max - n.of_tenant;
    return room < ATTEMPTS_PER_WEBHOOK - n.of_webhook ? room : ATTEMPTS_PER_WEBHOOK - n.of_webhook;
}

static int claim_round(struct turn *t, struct db *db, const struct list *webhooks,
                       size_t of_tenant_max, struct error *err)
{
    const struct due_webhook *due = webhooks->items;

    for (size_t i = 0; i < webhooks->n; i++) {
        const struct delivery_claim claim = { due[i].tenant_id, due[i].webhook_id,
                                              (int64_t)count_room(t, &due[i], of_tenant_max),
                                              clock_wall_us() };
        const struct str *ids;
        struct list claimed;

        if (claim.n == 0)
            continue;
        if (delivery_store_claim(db, &claim, &t->arena, &claimed, err) != 0)
            return -1;
        ids = claimed.items;
        for (size_t k = 0; k < claimed.n; k++)
            t->claims[t->n_claims++] = (struct claim){ &due[i], ids[k] };
    }
    return 0;
}

/* Tenants without an attempt in progress come first, however much is due for others. */
static int claim_due(struct turn *t, struct db *db, struct error *err)
{
    struct list due;

    if (delivery_store_due(db, clock_wall_us(), &t->arena, &due, err) != 0 ||
        claim_round(t, db, &due, 1, err) != 0)
        return -1;
    return claim_round(t, db, &due, ATTEMPTS_PER_TENANT, err);
}

/* Adds the deliveries of pending messages; tenants take turns. */
static int fan_out(struct turn *t, struct db *db, struct error *err)
{
    const int steps = t->courier->singly > 0 ? 1 : FAN_OUT_STEPS;
    const int64_t until_us = clock_raw_us() + FAN_OUT_US;

    for (int i = 0; i < steps && clock_raw_us() < until_us; i++) {
        const int64_t before = t->fan_out_after;

        if (delivery_store_messages_next_tenant(db, before, &t->fan_out_after, err) != 0)
            return -1;
        if (t->fan_out_after == 0 && before == 0)
            return 0;
        if (t->fan_out_after != 0 && outbox_fan_out(db, t->fan_out_after, err) != 0)
            return -1;
    }
    return 0;
}

static int apply_turn(void *ctx, struct db *db, struct error *err)
{
    struct turn *t = ctx;
    struct courier *c = t->courier;

    arena_reset(&t->arena);
    t->n_claims = 0;
    t->fan_out_after = c->fan_out_after;
    if (!c->released && delivery_store_release(db, clock_wall_us(), err) != 0)
        return -1;
    t->fanned_out = clock_raw_us() - c->fan_out_us >= (int64_t)PERIOD_MS * USEC_PER_MSEC;
    if (t->fanned_out && fan_out(t, db, err) != 0)
        return -1;
    return claim_due(t, db, err);
}

/* Is there a message to fan out, or a delivery that may be claimed? Read before, so that a turn
 * without work costs the writer nothing. */
static int has_work(struct turn *t, bool *ret, struct error *err)
{
    struct courier *c = t->courier;
    const struct due_webhook *due;
    struct list list;
    int64_t tenant_id;

    *ret = !c->released;
    if (*ret)
        return 0;
    if (delivery_store_messages_next_tenant(c->options.db, 0, &tenant_id, err) != 0 ||
        delivery_store_due(c->options.db, clock_wall_us(), &t->arena, &list, err) != 0)
        return -1;
    due = list.items;
    *ret = tenant_id != 0;
    for (size_t i = 0; i < list.n && !*ret; i++)
        *ret = count_room(t, &due[i], ATTEMPTS_PER_TENANT) > 0;
    return 0;
}

/* Reads what was claimed, and starts an attempt. If it cannot be read, the delivery (but none of
 * the others) is due again only when its lease expires. */
static int start_claimed(struct courier *c, const struct claim *claim, struct error *err)
{
    const struct due_webhook *due = claim->due;
    struct db *db = c->options.db;
    struct attempt *a = new_attempt();
    int r =
        delivery_store_get(db, due->tenant_id, claim->delivery_id, &a->arena, &a->delivery, err);

    if (r != 0 || a->delivery.tenant_id == 0 || a->delivery.state != DELIVERY_WAITING ||
        renew_lease(c, &a->delivery)) {
        attempt_free(a); /* an error, or it was deleted or given up since */
        return r;
    }
    if (webhook_store_get(db, due->tenant_id, due->webhook_id, &a->arena, &a->webhook, err) != 0 ||
        (a->webhook.enabled && open_secrets(c, a, err) != 0))
        attempt_ended(c, a,
                      &(struct attempt_end){ .final = err->code == ERR_NOT_FOUND, /* removed */
                                             .error = err->text });
    else if (!a->webhook.enabled) /* disabled while the message was stored */
        attempt_ended(c, a,
                      &(struct attempt_end){ .final = true, .error = "the webhook is disabled" });
    else
        attempts_start(&c->attempts, a);
    return 0;
}

/* A tenant whose messages cannot be fanned out keeps no other from it: after a failure tenants are
 * taken one by one, and the one that fails is passed over. */
static int take_turn(struct courier *c, struct turn *t, struct error *err)
{
    bool work;
    int r = has_work(t, &work, err);

    if (r != 0 || !work)
        return r;
    r = writer_run_and_wait(c->options.writer, apply_turn, t, err);
    if (r == 0 || c->singly > 0)
        c->fan_out_after = t->fan_out_after;
    if (c->singly > 0)
        c->singly--;
    else if (r != 0)
        c->singly = FAN_OUT_STEPS;
    if (r != 0)
        return -1;
    c->released = true;
    if (t->fanned_out)
        c->fan_out_us = clock_raw_us();
    for (size_t i = 0; i < t->n_claims; i++)
        if (start_claimed(c, &t->claims[i], err) != 0)
            r = -1;
    return r;
}

/* When the wall clock was set back, deliveries are released as at the start. */
static void note_clocks(struct courier *c)
{
    const struct clock_times now = clock_times();
    int64_t offset_us = now.wall_us - now.mono_us;

    if (offset_us < c->offset_us - (int64_t)STEP_S * USEC_PER_SEC)
        c->released = false;
    c->offset_us = offset_us;
}

static int delete_old(void *ctx, struct db *db, struct error *err)
{
    return delivery_store_forget(db, clock_wall_us() - (int64_t)KEEP_S * USEC_PER_SEC, ctx, err);
}

struct trimming {
    struct delivery_trim trim;
    bool removed, more;
};

/* A removed webhook goes with its last delivery. */
static int trim_some(void *ctx, struct db *db, struct error *err)
{
    struct trimming *t = ctx;

    if (delivery_store_trim(db, &t->trim, &t->more, err) != 0)
        return -1;
    return !t->removed || t->more
               ? 0
               : webhook_store_delete(db, t->trim.tenant_id, t->trim.webhook_id, err);
}

/* *ret_more: its other deliveries go in further steps. */
static int trim_webhook(struct courier *c, const struct due_webhook *webhook, bool *ret_more,
                        struct error *err)
{
    struct trimming t = { .trim = { webhook->tenant_id, webhook->webhook_id, STR_NULL },
                          .removed = webhook->removed };
    ARENA_SCOPED(arena);
    int r = 0;

    if (!t.removed)
        r = delivery_store_oldest_kept(c->options.db, webhook, &arena, &t.trim.before, err);
    if (r == 0 && (t.removed || !str_is_null(t.trim.before)))
        r = writer_run_and_wait(c->options.writer, trim_some, &t, err);
    *ret_more = r == 0 && t.more;
    return r;
}

/* Stays at a webhook that has more. One that fails ends the step, so that this thread waits for the
 * database once at most, but not the round. */
static int trim_step(struct courier *c, struct error *err)
{
    struct trim_round *round = &c->trim;
    const struct due_webhook after = { .tenant_id = round->tenant_id,
                                       .webhook_id = str_of(round->webhook_id) };
    const struct due_webhook *all;
    struct list webhooks;
    ARENA_SCOPED(arena);
    bool more = false;
    int r = 0;

    if (round->old) {
        r = writer_run_and_wait(c->options.writer, delete_old, &more, err);
        round->old = r == 0 && more;
        return r;
    }
    round->runs = false;
    if (delivery_store_webhooks_after(c->options.db, &after, WEBHOOKS_PER_STEP, &arena, &webhooks,
                                      err) != 0)
        return -1;
    all = webhooks.items;
    for (size_t i = 0; i < webhooks.n && r == 0; i++) {
        r = trim_webhook(c, &all[i], &more, err);
        if (more)
            break;
        round->tenant_id = all[i].tenant_id;
        (void)snprintf(round->webhook_id, sizeof(round->webhook_id), "%.*s",
                       STR_ARG(all[i].webhook_id));
    }
    round->runs = more || r != 0 || webhooks.n == WEBHOOKS_PER_STEP;
    return r;
}

static void trim_webhooks(struct courier *c)
{
    const int64_t now_us = clock_mono_us();
    struct error err = { 0 };

    if (!c->trim.runs) {
        if (now_us - c->trim.began_us < (int64_t)TRIM_PERIOD_S * USEC_PER_SEC &&
            !atomic_load(&c->trim_soon))
            return;
        atomic_store(&c->trim_soon, false);
        c->trim = (struct trim_round){ .began_us = now_us, .runs = true, .old = true };
    }
    if (trim_step(c, &err) != 0)
        log_write(LOG_WARNING, "webhook",
                  "old deliveries could not be deleted, and will be later: %s", err.text);
}

/* Every PERIOD_MS, and when an attempt has ended. A database that is unavailable is logged once. */
static void poll_due(struct courier *c)
{
    struct turn turn = { .courier = c };
    struct error err = { 0 };
    bool failing;

    if (!c->options.delivers || clock_mono_us() - c->polled_us < (int64_t)PERIOD_MS * USEC_PER_MSEC)
        return;
    c->polled_us = clock_mono_us();
    note_clocks(c);
    arena_init(&turn.arena);
    failing = take_turn(c, &turn, &err) != 0;
    arena_done(&turn.arena);
    if (failing && !c->failing)
        log_write(LOG_WARNING, "webhook", "deliveries are paused: %s", err.text);
    c->failing = failing;
    if (!failing)
        trim_webhooks(c);
}

static void start_test(struct courier *c, struct courier_test *test)
{
    struct attempt *a = new_attempt();
    struct error err = { 0 };
    char digits[24];

    if (attempts_count(&c->attempts, test->tenant_id, test->webhook_id).tests >= TESTS_PER_TENANT) {
        err_set(&err, ERR_BUSY, "too many webhook tests are in progress; retry later");
        end_test(c, test, NULL, &err);
        attempt_free(a);
        return;
    }
    a->owner = test;
    a->letter = test->letter;
    a->webhook.tenant_id = test->tenant_id;
    digest_random_base62(digits, sizeof(digits));
    a->delivery.message = (struct message_row){
        .tenant_id = test->tenant_id,
        .message_id = arena_printf(&a->arena, "msg_%.*s", (int)sizeof(digits), digits),
        .type = STR_LIT("test"),
        .created_at = clock_wall_us(),
        .data = STR_LIT("{\"summary\":\"A test message from muster\"}"),
    };
    if (a->letter == NULL && (webhook_store_get(c->options.db, test->tenant_id, test->webhook_id,
                                                &a->arena, &a->webhook, &err) != 0 ||
                              open_secrets(c, a, &err) != 0)) {
        end_test(c, test, NULL, &err);
        attempt_free(a);
        return;
    }
    attempts_start(&c->attempts, a);
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

    struct attempt *a;

    while ((a = attempts_pop(&c->attempts)) != NULL) {
        if (a->owner != NULL)
            end_test(c, a->owner, NULL, &stopping);
        attempt_free(a);
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
    c->trim.began_us = now.mono_us;
    c->offset_us = now.wall_us - now.mono_us;
    c->attempts =
        (struct attempts){ .options = options->attempts, .ended = attempt_ended, .ctx = c };
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

void courier_trim_soon(struct courier *c)
{
    atomic_store(&c->trim_soon, true);
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
