/* reads.c - when the next portion of all agents is read, and how far ahead it looks. */
#include "features/alerts/silence/reads.h"

#include "base/clock.h"
#include "features/alerts/silence/silence.h"
#include "features/alerts/silence/watched.h"

enum {
    READ_PERIOD_S = 15,  /* between two reads of an agent, or longer when they take long */
    READ_REST = 10,      /* no read sooner than this many times as long as the last ones took */
    READ_LATE_S = 30,    /* who may be late until a period and this is read: the next may be late */
    FIRST_AHEAD_S = 600, /* the same while it is not known how long reading all portions takes */
    PORTION = 250000,    /* agents that a read looks at: a quarter of a second of the database */
    PORTION_MIN = 1000,  /* after reads that failed */
};

static int64_t largest_portion(const struct reads *r)
{
    return r->options.portion != 0 ? r->options.portion : PORTION;
}

void reads_init(struct reads *r, const struct reads_options *options)
{
    *r = (struct reads){ .options = *options };
    r->portions.size = largest_portion(r);
}

void reads_begin_again(struct reads *r)
{
    r->loaded = r->awaited = false;
    r->all_us = 0;
    watched_clear(r->options.watched);
    portions_rewind(&r->portions);
}

void reads_ask(struct reads *r)
{
    r->stale = true;
}

bool reads_are_known(const struct reads *r)
{
    return !r->failed || !r->whole;
}

/* Reads are of the agents of all tenants, so each is followed by a rest: frequent changes cannot
 * keep the database busy with them. */
static bool is_read_due(const struct reads *r, const struct silence_now *now)
{
    const int64_t period_us = (int64_t)READ_PERIOD_S * USEC_PER_SEC;

    if (!r->failed && !r->loaded)
        return true;
    if (now->mono_us - r->read_us < r->rest_us)
        return false;
    return r->failed || r->stale || !portions_is_first(&r->portions) ||
           now->mono_us - r->first_us >= period_us;
}

/* How long the next one waits at least. A read of all agents may have been unlucky: of two the
 * faster counts. */
static void note_read(struct reads *r, const struct silence_now *now, bool failed, int64_t took_us)
{
    const bool unlucky = !failed && r->whole && took_us > r->took_us;

    r->failed = failed;
    r->read_us = now->mono_us;
    r->rest_us = READ_REST * (unlucky ? r->took_us : took_us);
    r->took_us = failed ? 0 : took_us;
}

/* Until when an agent may be late that is read now. One of a portion is read again after as long as
 * all portions took the last time, and after twice as long if that fails. */
static int64_t look_ahead(const struct reads *r)
{
    const int64_t least_us = (int64_t)READ_PERIOD_S * USEC_PER_SEC;
    int64_t us = r->all_us * 5 / 2;

    if (r->whole)
        us = r->failed ? 0 : r->rest_us;
    else if (us == 0)
        us = (int64_t)FIRST_AHEAD_S * USEC_PER_SEC;
    return (us > least_us ? us : least_us) + (int64_t)READ_LATE_S * USEC_PER_SEC;
}

/* Their reports may come before their portion is read. */
static int await_silent(struct reads *r, struct error *err)
{
    if (!r->awaited && !r->whole &&
        watched_await_silent(r->options.db, r->options.last_seen, err) != 0)
        return -1;
    r->awaited = true;
    return 0;
}

static int read_portion(struct reads *r, const struct silence_now *now,
                        const struct agent_range *range, struct error *err)
{
    const struct silence_span span = { now->wall_us, now->wall_us + look_ahead(r), *range };

    if (await_silent(r, err) != 0 ||
        watched_read(r->options.watched, r->options.db, &span, r->options.last_seen, err) != 0)
        return -1;
    if (portions_is_first(&r->portions))
        r->stale = false;
    return 0;
}

/* All portions from the first one on. They become larger again when none was too large. */
static void begin_sweep(struct reads *r, const struct silence_now *now)
{
    const int64_t twice = r->portions.size * 2, largest = largest_portion(r);

    if (!r->cut)
        r->portions.size = twice < largest ? twice : largest;
    r->cut = false;
    r->first_us = now->mono_us;
    r->sum_us = 0;
}

static void shrink_portions(struct reads *r)
{
    const int64_t half = r->portions.size / 2;

    r->portions.size = half < PORTION_MIN ? r->portions.size : half;
    r->cut = true;
}

/* One that could not be read is passed over until the others have had their turn: it may be the
 * only one that takes too long. */
static void pass_portion(struct reads *r, const struct silence_now *now,
                         const struct agent_range *range)
{
    int64_t all_us;

    r->sum_us += r->rest_us + USEC_PER_SEC;
    if (r->failed && r->whole)
        return;
    portions_pass(&r->portions, range);
    if (!portions_is_first(&r->portions))
        return;
    all_us = now->mono_us - r->first_us + r->rest_us;
    r->loaded = true;
    r->all_us = all_us > r->sum_us ? all_us : r->sum_us;
}

int reads_tick(struct reads *r, const struct silence_now *now, struct error *err)
{
    const int64_t began_us = clock_raw_us();
    struct agent_range range;
    bool found, failed;

    if (!is_read_due(r, now))
        return 0;
    if (portions_is_first(&r->portions))
        begin_sweep(r, now);
    found = portions_next(&r->portions, r->options.db, &range, err) == 0;
    r->whole = found && portions_is_whole(&range);
    failed = !found || read_portion(r, now, &range, err) != 0;
    note_read(r, now, failed, clock_raw_us() - began_us);
    if (failed)
        shrink_portions(r);
    if (found)
        pass_portion(r, now, &range);
    return failed ? -1 : 0;
}
