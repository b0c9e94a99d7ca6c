/* throttle.c - times of failures, by account and by address. */
#include "features/users/throttle.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"

enum { ENTRIES_MAX = 16384, KNOWN_MAX = 4096, SOON_S = 2 };

static const int64_t window_us = (int64_t)THROTTLE_WINDOW_S * USEC_PER_SEC;

/* An account, an address, an account at a known address, or a user whose password is being hashed.
 * Its key is a digest: of fixed size, however long the name. */
struct entry {
    struct sha256 key;
    struct entry *older, *newer; /* ordered by last activity */
    int64_t failures[THROTTLE_FAILURES];
    unsigned n; /* failures, oldest first */
    unsigned under_way;
};

struct throttle {
    struct lock lock; /* also guards the entries' members */
    struct map entries GUARDED_BY(lock);
    struct entry *oldest GUARDED_BY(lock), *newest GUARDED_BY(lock);

    /* Keys of accounts with an address that they signed in from: a ring, so that the oldest go.
     * Only a success adds one: strangers cannot push others out. */
    struct sha256 known[KNOWN_MAX] GUARDED_BY(lock);
    size_t known_next GUARDED_BY(lock);
};

struct throttle *throttle_new(void)
{
    struct throttle *t = NEW(struct throttle);

    lock_init(&t->lock);
    map_init(&t->entries);
    return t;
}

void throttle_free(struct throttle *t)
{
    if (t == NULL)
        return;
    lock_unshared(&t->lock);
    for (struct entry *e = t->oldest, *newer; e != NULL; e = newer) {
        newer = e->newer;
        free(e);
    }
    map_done(&t->entries);
    lock_done(&t->lock);
    free(t);
}

static void unlink_entry(struct throttle *t, struct entry *e) REQUIRES(t->lock)
{
    *(e->older == NULL ? &t->oldest : &e->older->newer) = e->newer;
    *(e->newer == NULL ? &t->newest : &e->newer->older) = e->older;
}

static void link_newest(struct throttle *t, struct entry *e) REQUIRES(t->lock)
{
    e->older = t->newest;
    e->newer = NULL;
    *(t->newest == NULL ? &t->oldest : &t->newest->newer) = e;
    t->newest = e;
}

static void forget(struct throttle *t, struct entry *e) REQUIRES(t->lock)
{
    assert(e->under_way == 0); /* the end of an attempt needs its entry */
    unlink_entry(t, e);
    (void)map_remove(&t->entries, digest_str(&e->key));
    free(e);
}

/* What an entry is about, which keeps equal names apart. */
enum about { ACCOUNT = 'a', ADDRESS = 'o', ACCOUNT_AT_ADDRESS = 'k', HASHING = 'h' };

static struct sha256 key_of(enum about about, struct str name, struct str more)
{
    const char kind = (char)about;
    const struct sha256 parts[] = { digest_sha256(str_from(&kind, 1)), digest_sha256(name),
                                    digest_sha256(more) };

    return digest_sha256(str_from((const char *)parts, sizeof(parts)));
}

/* The keys of an attempt's two entries: who tries, and from where. */
struct attempt_keys {
    struct sha256 at_address, who, where;
};

static struct attempt_keys keys_of(const struct throttle_attempt *attempt)
{
    const struct address network = address_network(&attempt->from);
    const struct str from = address_bytes(&network);
    struct attempt_keys keys = { .at_address = key_of(ACCOUNT_AT_ADDRESS, attempt->account, from),
                                 .where = key_of(ADDRESS, from, STR_NULL) };

    keys.who = attempt->known ? keys.at_address : key_of(ACCOUNT, attempt->account, STR_NULL);
    return keys;
}

struct sha256 throttle_who(const struct throttle_attempt *attempt)
{
    return keys_of(attempt).who;
}

struct sha256 throttle_where(const struct throttle_attempt *attempt)
{
    return keys_of(attempt).where;
}

static bool is_known(const struct throttle *t, const struct sha256 *at_address) REQUIRES(t->lock)
{
    for (size_t i = 0; i < KNOWN_MAX; i++)
        if (memcmp(t->known[i].bytes, at_address->bytes, SHA256_BYTES) == 0)
            return true;
    return false;
}

static void remember(struct throttle *t, const struct sha256 *at_address) REQUIRES(t->lock)
{
    if (is_known(t, at_address))
        return;
    t->known[t->known_next] = *at_address;
    t->known_next = (t->known_next + 1) % KNOWN_MAX;
}

/* Makes room for two entries. Those with running attempts stay; the hashing queue limits their
 * number. */
static void make_room(struct throttle *t) REQUIRES(t->lock)
{
    assert((t->entries.n == 0) == (t->oldest == NULL));
    while (t->entries.n + 2 > ENTRIES_MAX && t->oldest->under_way == 0)
        forget(t, t->oldest);
}

/* The entry, moved to the newest end; created when it does not exist. */
static struct entry *entry_of(struct throttle *t, const struct sha256 *key) REQUIRES(t->lock)
{
    struct entry *e = map_get(&t->entries, digest_str(key));

    if (e != NULL) {
        unlink_entry(t, e);
    } else {
        e = NEW(struct entry);
        e->key = *key;
        map_put(&t->entries, digest_str(&e->key), e);
    }
    link_newest(t, e);
    return e;
}

static void drop_left(struct entry *e, int64_t now_us)
{
    unsigned left = 0;

    assert(e->n <= THROTTLE_FAILURES);
    while (left < e->n && e->failures[left] <= now_us - window_us)
        left++;
    for (unsigned i = left; i < e->n; i++)
        e->failures[i - left] = e->failures[i];
    e->n -= left;
}

/* Seconds to wait; 0: none. */
static int64_t wait_of(struct entry *e, int64_t now_us)
{
    drop_left(e, now_us);
    if (e->n >= THROTTLE_FAILURES)
        return (e->failures[0] + window_us - now_us + USEC_PER_SEC - 1) / USEC_PER_SEC;
    return e->n + e->under_way >= THROTTLE_FAILURES ? SOON_S : 0;
}

/* An entry that holds nothing: a refused attempt must not evict entries of others. */
static void forget_if_idle(struct throttle *t, struct entry *a, struct entry *b) REQUIRES(t->lock)
{
    if (b != a && b->n == 0 && b->under_way == 0)
        forget(t, b);
    if (a->n == 0 && a->under_way == 0)
        forget(t, a);
}

int64_t throttle_begin(struct throttle *t, struct throttle_attempt *attempt, int64_t now_us)
{
    struct attempt_keys keys = keys_of(attempt);
    struct entry *who, *where;
    int64_t wait, other;

    lock_acquire(&t->lock);
    if (!attempt->known && is_known(t, &keys.at_address)) {
        attempt->known = true;
        keys.who = keys.at_address;
    }
    make_room(t);
    who = entry_of(t, &keys.who);
    where = entry_of(t, &keys.where);
    wait = wait_of(who, now_us);
    other = wait_of(where, now_us);
    if (other > wait)
        wait = other;
    if (wait == 0) {
        who->under_way++;
        where->under_way++;
        attempt->first = who->under_way == 1;
    } else {
        forget_if_idle(t, who, where);
    }
    lock_release(&t->lock);
    return wait;
}

static void end_one(struct entry *e, int64_t now_us, bool failed)
{
    assert(e->under_way > 0); /* throttle_begin() counted it */
    e->under_way--;
    if (!failed)
        return;
    drop_left(e, now_us);
    if (e->n < THROTTLE_FAILURES)
        e->failures[e->n++] = now_us;
}

void throttle_end(struct throttle *t, const struct throttle_attempt *attempt, int64_t now_us,
                  enum throttle_outcome outcome)
{
    const struct attempt_keys keys = keys_of(attempt);
    struct entry *who, *where;

    lock_acquire(&t->lock);
    who = entry_of(t, &keys.who);
    where = entry_of(t, &keys.where);
    end_one(who, now_us, outcome == ATTEMPT_FAILED);
    end_one(where, now_us, outcome == ATTEMPT_FAILED);
    if (outcome == ATTEMPT_SUCCEEDED) {
        who->n = 0;
        remember(t, &keys.at_address);
    }
    forget_if_idle(t, who, where);
    lock_release(&t->lock);
}

bool throttle_begin_hash(struct throttle *t, struct str user_id)
{
    const struct sha256 key = key_of(HASHING, user_id, STR_NULL);
    struct entry *e;
    bool is_first;

    lock_acquire(&t->lock);
    make_room(t);
    e = entry_of(t, &key);
    is_first = e->under_way == 0;
    e->under_way = 1;
    lock_release(&t->lock);
    return is_first;
}

void throttle_end_hash(struct throttle *t, struct str user_id)
{
    const struct sha256 key = key_of(HASHING, user_id, STR_NULL);
    struct entry *e;

    lock_acquire(&t->lock);
    e = entry_of(t, &key);
    assert(e->under_way == 1); /* throttle_begin_hash() set it */
    e->under_way = 0;
    forget(t, e);
    lock_release(&t->lock);
}
