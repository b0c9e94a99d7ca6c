/* test_rate.c - the window against a slow and obvious one. */
#include <pthread.h>
#include <stdatomic.h>

#include "base/budget.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/access/rate.h"
#include "hooks/fault.h"
#include "unit/temp_db.h"

enum { MOMENTS = 100000 };

static const int64_t window_us = (int64_t)RATE_WINDOW_S * USEC_PER_SEC;

/* Every moment that was let through, oldest first. */
struct history {
    int64_t at[MOMENTS];
    size_t n, gone; /* gone: how many have left the window */
};

static struct history history;

static void forget_old(struct history *h, int64_t now)
{
    while (h->gone < h->n && h->at[h->gone] <= now - window_us)
        h->gone++;
}

static int64_t count(const struct history *h)
{
    return (int64_t)(h->n - h->gone);
}

static int64_t seconds_up(int64_t us)
{
    return (us + USEC_PER_SEC - 1) / USEC_PER_SEC;
}

/* What the window must say at `now`; counts it. */
static struct rate_verdict expected(struct history *h, int64_t limit, int64_t now)
{
    struct rate_verdict v = { .limit = limit };
    size_t counted;

    forget_old(h, now);
    v.allowed = count(h) < limit;
    if (v.allowed)
        h->at[h->n++] = now;
    v.remaining = count(h) < limit ? limit - count(h) : 0;
    counted = count(h) < limit ? (size_t)count(h) : (size_t)limit; /* what stands in the way */
    v.reset_s = seconds_up(h->at[h->n - counted] + window_us - now);
    return v;
}

/* Bursts, trickles, pauses, and steps of exactly a window. */
static int64_t random_gap(void)
{
    switch (digest_random_below(100)) {
    case 0:
        return window_us;
    case 1:
        return window_us - 1;
    case 2:
        return digest_random_below(90 * USEC_PER_SEC);
    default:
        return digest_random_below(3) == 0 ? 0 : digest_random_below(400000);
    }
}

static void check_exact(const int64_t *limits, size_t n_limits)
{
    struct rate_window *w = rate_window_new(STR_LIT("test"));
    int64_t now = 1000, limit = limits[0];
    int refused = 0;

    history.n = history.gone = 0;
    for (int i = 0; i < MOMENTS; i++) {
        struct rate_verdict got, want;

        now += random_gap();
        if (digest_random_below(50) == 0)
            limit = limits[digest_random_below((uint32_t)n_limits)];
        got = rate_take(w, limit, now);
        want = expected(&history, limit, now);
        CHECK_INT(got.allowed, want.allowed);
        CHECK_INT(got.limit, want.limit);
        CHECK_INT(got.remaining, want.remaining);
        CHECK_INT(got.reset_s, want.reset_s);
        refused += !got.allowed;
    }
    CHECK(refused > MOMENTS / 100 && refused < MOMENTS); /* both answers were seen */
    rate_window_free(w);
}

TEST(the_window_is_exact)
{
    check_exact((const int64_t[]){ 100 }, 1);
    check_exact((const int64_t[]){ 1 }, 1);
    check_exact((const int64_t[]){ 1, 5, 100, 37, 99 }, 5);
}

TEST(who_comes_back_when_told_is_let_in)
{
    static const int64_t limits[] = { 1, 3, 100, 30000 };

    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct rate_window *w = rate_window_new(STR_LIT("test"));
        int64_t now = 123456;
        int times = 0;

        while (times < 200) {
            struct rate_verdict v = rate_take(w, limits[i], now);

            if (v.allowed) {
                now += digest_random_below(1000);
                continue;
            }
            now += v.reset_s * USEC_PER_SEC;
            CHECK(rate_take(w, limits[i], now).allowed);
            times++;
        }
        rate_window_free(w);
    }
}

struct taker {
    struct rate_window *window;
    atomic_int *passed;
};

static void *take_many(void *arg)
{
    const struct taker *t = arg;

    for (int i = 0; i < 1000; i++)
        if (rate_take(t->window, 500, 1000 + i).allowed)
            atomic_fetch_add(t->passed, 1);
    return NULL;
}

TEST(threads_share_one_limit)
{
    atomic_int passed = 0;
    struct taker taker = { rate_window_new(STR_LIT("test")), &passed };
    pthread_t threads[4];

    for (size_t i = 0; i < COUNT_OF(threads); i++)
        CHECK(pthread_create(&threads[i], NULL, take_many, &taker) == 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(atomic_load(&passed), 500);
    rate_window_free(taker.window);
}

enum { NODES = 3, SECONDS = 300 };

static const int64_t epoch_s = 1790000000;

/* Nodes whose monotonic clocks have nothing in common. */
struct node {
    struct rate_window *window;
    int64_t ahead_us, exchanged_us;
    int64_t rows[SECONDS]; /* what it has stored, by second */
};

static struct rate_moment moment_of(const struct node *node, int64_t now_us)
{
    return (struct rate_moment){ .mono_us = now_us + node->ahead_us,
                                 .wall_us = epoch_s * USEC_PER_SEC + now_us };
}

/* What rate_share.c does once a second. */
static void exchange(struct node nodes[NODES], size_t which, int64_t now_us)
{
    const struct rate_moment now = moment_of(&nodes[which], now_us);
    const int64_t first = rate_first_second(now.wall_us) - epoch_s;
    const int64_t n = rate_begin_saving(nodes[which].window);
    struct rate_others others = { 0 };

    nodes[which].rows[now_us / USEC_PER_SEC] += n;
    for (size_t i = 0; i < NODES; i++) {
        int64_t sum = 0;

        for (int64_t s = first < 0 ? 0 : first; i != which && s <= now_us / USEC_PER_SEC; s++) {
            others.counts[s - first] += nodes[i].rows[s];
            sum += nodes[i].rows[s];
        }
        others.nodes += sum > 0;
        others.rank += sum > 0 && i < which;
    }
    rate_set_others(nodes[which].window, now, &others);
    rate_saved(nodes[which].window, n);
    nodes[which].exchanged_us = now_us;
}

/* All nodes are asked `per_second` times a second; what passes by second. */
static void run_nodes(struct node nodes[NODES], int64_t limit, int64_t per_second,
                      int64_t passed[SECONDS])
{
    for (size_t i = 0; i < NODES; i++)
        nodes[i] = (struct node){ .window = rate_window_new(STR_LIT("w")),
                                  .ahead_us = (int64_t)i * 777123456,
                                  .exchanged_us = (int64_t)i * 300000 - USEC_PER_SEC };
    for (int64_t k = 0; k < SECONDS * per_second; k++) {
        const int64_t now_us = k * USEC_PER_SEC / per_second;

        for (size_t i = 0; i < NODES; i++) {
            if (now_us - nodes[i].exchanged_us >= USEC_PER_SEC)
                exchange(nodes, i, now_us);
            passed[now_us / USEC_PER_SEC] +=
                rate_take(nodes[i].window, limit, now_us + nodes[i].ahead_us).allowed;
        }
    }
    for (size_t i = 0; i < NODES; i++)
        rate_window_free(nodes[i].window);
}

TEST(nodes_exceed_a_limit_in_the_first_seconds_of_a_burst_only)
{
    static const int64_t limits[] = { 20, 600, 12000 };

    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        static const int64_t rates[] = { 1, 7, 100 };

        for (size_t r = 0; r < COUNT_OF(rates); r++) {
            struct node nodes[NODES];
            int64_t passed[SECONDS] = { 0 }, sum = 0, later = 0;
            const int64_t most = (int64_t)NODES * RATE_WINDOW_S * rates[r];

            run_nodes(nodes, limits[i], rates[r], passed);
            for (int s = 2; s < SECONDS; s++) {
                sum += passed[s] - (s >= RATE_WINDOW_S + 2 ? passed[s - RATE_WINDOW_S] : 0);
                CHECK(sum * 100 <= limits[i] * 115);
                later += s >= SECONDS - 3 * RATE_WINDOW_S ? passed[s] : 0;
            }
            CHECK(later * 100 >= 3 * (most < limits[i] ? most : limits[i]) * 85);
        }
    }
}

TEST(a_small_limit_is_reached_by_turns)
{
    struct node nodes[NODES];
    int64_t passed[SECONDS] = { 0 }, sum = 0;

    run_nodes(nodes, 2, 20, passed);
    for (int s = 2; s < SECONDS; s++)
        sum += passed[s];
    CHECK(sum >= 6 && sum <= 2 * SECONDS / RATE_WINDOW_S + 2);
}

TEST(what_another_let_through_counts_until_its_second_has_left)
{
    struct rate_window *w = rate_window_new(STR_LIT("a"));
    const int64_t limit = 100, now = 90 * (int64_t)USEC_PER_SEC + 1;
    const struct rate_moment moment = { now, epoch_s * USEC_PER_SEC + 1 };
    struct rate_others others = { .counts[RATE_WINDOW_S] = limit / 4 };
    int64_t passed = 0;

    rate_set_others(w, moment, &others);
    rate_set_others(w, moment, &others); /* replaces what was known before */
    for (int64_t n = 0; n < limit; n++)
        passed += rate_take(w, limit, now + 30).allowed;
    CHECK_INT(passed, limit - limit / 4);
    CHECK_INT(rate_take(w, limit, now + 30).reset_s, RATE_WINDOW_S);
    CHECK(!rate_take(w, limit, now + window_us - USEC_PER_SEC).allowed);
    CHECK(rate_take(w, limit, now + window_us + 2 * (int64_t)USEC_PER_SEC).allowed);
    rate_window_free(w);
}

TEST(a_share_ends_when_the_database_does_not_answer)
{
    struct rate_window *w = rate_window_new(STR_LIT("w"));
    const struct rate_moment moment = { 5, epoch_s * USEC_PER_SEC };
    struct rate_others others = { .counts[1] = 9, .nodes = 1, .rank = 1 };

    CHECK(rate_take(w, 9, 5).allowed);
    rate_set_others(w, moment, &others);
    CHECK(!rate_take(w, 9, 6).allowed); /* the limit was reached */
    others.counts[1] = 0;
    others.counts[2] = 7;
    rate_set_others(w, moment, &others);
    CHECK_INT(rate_take(w, 9, 6).reset_s, 1); /* one is left, and it is not this node's turn */
    CHECK(rate_take(w, 9, 6 + 3 * (int64_t)USEC_PER_SEC).allowed);
    rate_window_free(w);
}

TEST(what_has_left_the_window_need_not_be_stored)
{
    struct rate_window *w = rate_window_new(STR_LIT("w"));

    CHECK_INT(rate_take(w, 5, 10).unsaved, 1);
    CHECK_INT(rate_take(w, 5, 20).unsaved, 2);
    CHECK(rate_mark_due(w) && !rate_mark_due(w));
    CHECK_INT(rate_begin_saving(w), 2);
    CHECK(rate_mark_due(w));
    rate_saved(w, 1);
    CHECK_INT(rate_take(w, 5, 30).unsaved, 2);
    CHECK_INT(rate_take(w, 5, 40 + window_us).unsaved, 1);
    rate_window_free(w);
}

static void on_fatal(void *ctx, const struct error *err)
{
    (void)ctx;
    (void)err;
}

/* By a writer whose `nth` call of the database fails. Does that fail the exchange of the window? */
static bool exchange_with_fault(struct rate_window *w, int nth)
{
    struct db *real = temp_db_open(temp_db_migrated(), DB_WRITER);
    struct db *db = db_fault_new(real, nth, ERR_FULL);
    struct txn txn = { .db = db };
    const struct writer_options options = {
        .txns = &txn,
        .n_txns = 1,
        .limits = { .events_max = 9, .bytes_max = 9, .group_max = 9 },
        .on_fatal = on_fatal
    };
    struct writer *writer;
    struct budgets budgets;
    struct rate_share *share;
    bool started, fired;

    budgets_init(&budgets);
    share = rate_share_new(&budgets, false);
    CHECK(writer_new(&options, &writer, NULL) == 0);
    started = rate_share_start(share, writer, NULL) == 0;
    for (int i = 0; i < 3; i++)
        CHECK(rate_share_take(share, w, 20).allowed);
    CHECK(!rate_mark_due(w)); /* more than a twentieth is not stored yet */
    rate_share_tick(share, clock_mono_us());
    writer_free(writer);
    fired = db_fault_fired(db);
    rate_share_free(share);
    db_close(db);
    db_close(real);
    return started && fired;
}

TEST(a_window_that_could_not_be_stored_is_due_again)
{
    int failed = 0;

    for (int nth = 0; nth < 9; nth++) {
        struct rate_window *w = rate_window_new(STR_LIT("w"));

        failed += exchange_with_fault(w, nth);
        CHECK(rate_mark_due(w));
        rate_window_free(w);
    }
    CHECK(failed > 0);
}
