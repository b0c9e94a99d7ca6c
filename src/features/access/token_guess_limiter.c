/* token_guess_limiter.c - a table of fixed size: each address belongs to one set of a few slots. */
#include "features/access/token_guess_limiter.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/lock.h"
#include "base/mem.h"

enum { SETS = 1024, SLOTS = 8 };

static const int64_t window_us = (int64_t)TOKEN_GUESSES_WINDOW_S * USEC_PER_SEC;

/* Free when its window has ended. */
struct slot {
    uint64_t address; /* keyed hash */
    int64_t began_us; /* monotonic: start of the window */
    int64_t n;
};

struct token_guess_limiter {
    struct lock lock;
    struct slot sets[SETS][SLOTS] GUARDED_BY(lock);
    int64_t lookups_began_us
        GUARDED_BY(lock); /* start of the second in which lookups are counted */
    int64_t lookups, misses GUARDED_BY(lock);
};

struct token_guess_limiter *token_guess_limiter_new(void)
{
    struct token_guess_limiter *m = NEW(struct token_guess_limiter);

    lock_init(&m->lock);
    m->lookups_began_us = clock_mono_us();
    return m;
}

void token_guess_limiter_free(struct token_guess_limiter *m)
{
    if (m == NULL)
        return;
    lock_done(&m->lock);
    free(m);
}

static uint64_t hash_of(const struct address *from)
{
    const struct address network = address_network(from);

    return digest_sip(address_bytes(&network));
}

static bool is_over(const struct slot *slot, int64_t now_us)
{
    return slot->n == 0 || now_us - slot->began_us >= window_us;
}

/* The slot of the address, or NULL. */
static struct slot *find_slot(struct token_guess_limiter *m, uint64_t address, int64_t now_us)
    REQUIRES(m->lock)
{
    struct slot *set = m->sets[address % SETS];

    for (size_t i = 0; i < SLOTS; i++)
        if (set[i].address == address && !is_over(&set[i], now_us))
            return &set[i];
    return NULL;
}

/* Takes a free slot, else the oldest one. */
static struct slot *take_slot(struct token_guess_limiter *m, uint64_t address, int64_t now_us)
    REQUIRES(m->lock)
{
    struct slot *set = m->sets[address % SETS], *best = set;

    for (size_t i = 0; i < SLOTS && !is_over(best, now_us); i++)
        if (is_over(&set[i], now_us) || set[i].began_us < best->began_us)
            best = &set[i];
    assert(best >= set && best < set + SLOTS);
    *best = (struct slot){ .address = address, .began_us = now_us };
    return best;
}

int64_t token_guess_count(struct token_guess_limiter *m, const struct address *from)
{
    uint64_t address = hash_of(from);
    int64_t now_us = clock_mono_us(), wait_s = 0;
    struct slot *slot;

    lock_acquire(&m->lock);
    slot = find_slot(m, address, now_us);
    if (slot == NULL)
        slot = take_slot(m, address, now_us);
    assert(slot->address == address && slot->n <= TOKEN_GUESSES_MAX);
    if (slot->n < TOKEN_GUESSES_MAX)
        slot->n++;
    else
        wait_s = (slot->began_us + window_us - now_us + USEC_PER_SEC - 1) / USEC_PER_SEC;
    lock_release(&m->lock);
    return wait_s;
}

bool token_guesses_exceeded(struct token_guess_limiter *m, const struct address *from)
{
    uint64_t address = hash_of(from);
    const struct slot *slot;
    bool many;

    lock_acquire(&m->lock);
    slot = find_slot(m, address, clock_mono_us());
    many = slot != NULL && slot->n >= TOKEN_GUESSES_MAX;
    lock_release(&m->lock);
    return many;
}

/* Both limits are for the same second. */
static void begin_second(struct token_guess_limiter *m) REQUIRES(m->lock)
{
    int64_t now_us = clock_mono_us();

    if (now_us - m->lookups_began_us < USEC_PER_SEC)
        return;
    m->lookups_began_us = now_us;
    m->lookups = m->misses = 0;
}

bool token_guess_may_look_up(struct token_guess_limiter *m)
{
    bool may;

    lock_acquire(&m->lock);
    begin_second(m);
    may = m->lookups < LOOKUPS_MAX;
    m->lookups += may;
    assert(m->lookups <= LOOKUPS_MAX);
    lock_release(&m->lock);
    return may;
}

bool token_guess_may_miss(struct token_guess_limiter *m)
{
    bool may;

    lock_acquire(&m->lock);
    begin_second(m);
    may = m->misses < LOOKUPS_MAX;
    lock_release(&m->lock);
    return may;
}

void token_guess_missed(struct token_guess_limiter *m)
{
    lock_acquire(&m->lock);
    begin_second(m);
    m->misses++;
    lock_release(&m->lock);
}
