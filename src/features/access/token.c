/* token.c - generates tokens and checks their format. */
#include "features/access/auth.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/lock.h"
#include "base/mem.h"

enum { PREFIX_LEN = 7, RANDOM_LEN = 30, CHECK_LEN = 6 };

static const struct str personal = STR_INIT("mst_pat_");

_Static_assert(PREFIX_LEN + RANDOM_LEN + CHECK_LEN == TOKEN_LEN, "as the header says");

static const struct str prefixes[] = {
    [TOKEN_WORKSPACE] = STR_INIT("mst_ws_"),
    [TOKEN_AGENT] = STR_INIT("mst_ag_"),
    [TOKEN_READ_ONLY] = STR_INIT("mst_ro_"),
};

static void make(struct str prefix, char *ret)
{
    memcpy(ret, prefix.data, prefix.len);
    digest_random_base62(ret + prefix.len, RANDOM_LEN);
    digest_base62(digest_crc32(str_from(ret, prefix.len + RANDOM_LEN)),
                  ret + prefix.len + RANDOM_LEN, CHECK_LEN);
    ret[prefix.len + RANDOM_LEN + CHECK_LEN] = '\0';
}

void token_make(enum token_kind kind, char ret[TOKEN_LEN + 1])
{
    assert((size_t)kind < COUNT_OF(prefixes) && prefixes[kind].len == PREFIX_LEN);
    make(prefixes[kind], ret);
}

void token_make_personal(char ret[TOKEN_PERSONAL_LEN + 1])
{
    make(personal, ret);
}

bool token_is_personal(struct str token)
{
    return str_starts(token, personal);
}

static bool has_known_prefix(struct str token)
{
    for (size_t i = 0; i < COUNT_OF(prefixes); i++)
        if (str_starts(token, prefixes[i]))
            return true;
    return false;
}

static bool is_base62(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool token_is_well_formed(struct str token)
{
    const bool is_personal = token_is_personal(token);
    const size_t len = is_personal ? TOKEN_PERSONAL_LEN : TOKEN_LEN;
    char check[CHECK_LEN];

    if (token.len != len || (!is_personal && !has_known_prefix(token)))
        return false;
    for (size_t i = is_personal ? personal.len : PREFIX_LEN; i < len; i++)
        if (!is_base62(token.data[i]))
            return false;
    digest_base62(digest_crc32(str_from(token.data, len - CHECK_LEN)), check, CHECK_LEN);
    return str_eq(str_from(check, CHECK_LEN), str_from(token.data + len - CHECK_LEN, CHECK_LEN));
}

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
    may = m->lookups < TOKEN_LOOKUPS_MAX;
    m->lookups += may;
    assert(m->lookups <= TOKEN_LOOKUPS_MAX);
    lock_release(&m->lock);
    return may;
}

bool token_guess_may_miss(struct token_guess_limiter *m)
{
    bool may;

    lock_acquire(&m->lock);
    begin_second(m);
    may = m->misses < TOKEN_LOOKUPS_MAX;
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
