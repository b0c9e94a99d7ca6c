/* token_guess_limiter.c - a table of fixed size in sets of a few places, each set an address's only
 * home. */
#include "features/access/token_guess_limiter.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/lock.h"
#include "base/mem.h"

enum { SETS = 1024, PLACES = 8 };

static const int64_t window_us = (int64_t)MISSES_WINDOW_S * USEC_PER_SEC;

/* Free when its window is over. */
struct place {
    uint64_t address; /* keyed hash */
    int64_t began_us; /* monotonic: of the window */
    int64_t n;
};

struct token_guess_limiter {
    struct lock lock;
    struct place sets[SETS][PLACES] GUARDED_BY(lock);
    int64_t look_began_us GUARDED_BY(lock); /* of the second in which looks are counted */
    int64_t looks GUARDED_BY(lock);
};

struct token_guess_limiter *token_guess_limiter_new(void)
{
    struct token_guess_limiter *m = NEW(struct token_guess_limiter);

    lock_init(&m->lock);
    m->look_began_us = clock_mono_us();
    return m;
}

void token_guess_limiter_free(struct token_guess_limiter *m)
{
    if (m == NULL)
        return;
    lock_done(&m->lock);
    free(m);
}

static bool is_over(const struct place *place, int64_t now_us)
{
    return place->n == 0 || now_us - place->began_us >= window_us;
}

/* The address's place, or NULL. */
static struct place *find(struct token_guess_limiter *m, uint64_t address, int64_t now_us)
    REQUIRES(m->lock)
{
    struct place *set = m->sets[address % SETS];

    for (size_t i = 0; i < PLACES; i++)
        if (set[i].address == address && !is_over(&set[i], now_us))
            return &set[i];
    return NULL;
}

/* One that is over, else the oldest. */
static struct place *make(struct token_guess_limiter *m, uint64_t address, int64_t now_us)
    REQUIRES(m->lock)
{
    struct place *set = m->sets[address % SETS], *best = set;

    for (size_t i = 0; i < PLACES && !is_over(best, now_us); i++)
        if (is_over(&set[i], now_us) || set[i].began_us < best->began_us)
            best = &set[i];
    assert(best >= set && best < set + PLACES);
    *best = (struct place){ .address = address, .began_us = now_us };
    return best;
}

int64_t token_guess_count(struct token_guess_limiter *m, struct str from)
{
    uint64_t address = digest_sip(from);
    int64_t now_us = clock_mono_us(), wait_s = 0;
    struct place *place;

    lock_acquire(&m->lock);
    place = find(m, address, now_us);
    if (place == NULL)
        place = make(m, address, now_us);
    assert(place->address == address && place->n <= MISSES_MAX);
    if (place->n < MISSES_MAX)
        place->n++;
    else
        wait_s = (place->began_us + window_us - now_us + USEC_PER_SEC - 1) / USEC_PER_SEC;
    lock_release(&m->lock);
    return wait_s;
}

bool token_guesses_exceeded(struct token_guess_limiter *m, struct str from)
{
    uint64_t address = digest_sip(from);
    const struct place *place;
    bool many;

    lock_acquire(&m->lock);
    place = find(m, address, clock_mono_us());
    many = place != NULL && place->n >= MISSES_MAX;
    lock_release(&m->lock);
    return many;
}

bool token_guess_may_look_up(struct token_guess_limiter *m)
{
    int64_t now_us = clock_mono_us();
    bool may;

    lock_acquire(&m->lock);
    if (now_us - m->look_began_us >= USEC_PER_SEC) {
        m->look_began_us = now_us;
        m->looks = 0;
    }
    may = m->looks < LOOKS_MAX;
    m->looks += may;
    assert(m->looks <= LOOKS_MAX);
    lock_release(&m->lock);
    return may;
}
