/* throttle.c - times of failures, by account and by address. */
#include "features/access/users/throttle.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"

enum { ENTRIES_MAX = 16384, SOON_S = 2 };

static const int64_t window_us = (int64_t)THROTTLE_WINDOW_S * USEC_PER_SEC;

/* An account or an address. Its key is a digest: of fixed size, however long the name. */
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

static struct str key_str(const struct entry *e)
{
    return str_from((const char *)e->key.bytes, SHA256_BYTES);
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
    (void)map_remove(&t->entries, key_str(e));
    free(e);
}

/* For IPv6 the first 64 bits: one client has the rest. */
static struct str network_of(struct str address, struct in6_addr *room)
{
    char text[INET6_ADDRSTRLEN];

    if (address.len >= sizeof(text))
        return address;
    memcpy(text, address.data, address.len);
    text[address.len] = '\0';
    if (inet_pton(AF_INET6, text, room) != 1)
        return address;
    return str_from((const char *)room->s6_addr, sizeof(room->s6_addr) / 2);
}

/* An account and an address with the same name have different keys. */
static struct sha256 key_of(char kind, struct str name)
{
    struct sha256 both[2] = { digest_sha256(str_from(&kind, 1)), digest_sha256(name) };

    return digest_sha256(str_from((const char *)both, sizeof(both)));
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
static struct entry *entry_of(struct throttle *t, char kind, struct str name) REQUIRES(t->lock)
{
    const struct sha256 key = key_of(kind, name);
    struct entry *e = map_get(&t->entries, str_from((const char *)key.bytes, SHA256_BYTES));

    if (e != NULL) {
        unlink_entry(t, e);
    } else {
        e = NEW(struct entry);
        e->key = key;
        map_put(&t->entries, key_str(e), e);
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

int64_t throttle_begin(struct throttle *t, struct str account, struct str address, int64_t now_us)
{
    struct in6_addr room;
    struct entry *who, *where;
    int64_t wait, other;

    lock_acquire(&t->lock);
    make_room(t);
    who = entry_of(t, 'a', account);
    where = entry_of(t, 'o', network_of(address, &room));
    wait = wait_of(who, now_us);
    other = wait_of(where, now_us);
    if (other > wait)
        wait = other;
    if (wait == 0) {
        who->under_way++;
        where->under_way++;
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

void throttle_end(struct throttle *t, struct str account, struct str address, int64_t now_us,
                  enum throttle_outcome outcome)
{
    struct in6_addr room;
    struct entry *who, *where;

    lock_acquire(&t->lock);
    who = entry_of(t, 'a', account);
    where = entry_of(t, 'o', network_of(address, &room));
    end_one(who, now_us, outcome == ATTEMPT_FAILED);
    end_one(where, now_us, outcome == ATTEMPT_FAILED);
    if (outcome == ATTEMPT_SUCCEEDED)
        who->n = 0;
    forget_if_idle(t, who, where);
    lock_release(&t->lock);
}
