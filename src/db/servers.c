/* servers.c - the ranges of hashes, and the circuit breakers. */
#include "db/servers.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "db/driver.h"

enum {
    PLACES_MAX = 64, /* further places have no breaker */
    SLOW_MAX = 3,    /* one after the other */

    /* How long a breaker stays open. A server that does not answer is tried less often: each
     * attempt may leave a session behind until the server recovers. */
    REFUSED_US = USEC_PER_SEC,
    SILENT_US = 10 * USEC_PER_SEC,
    TRY_US = 15 * USEC_PER_SEC, /* how long other transactions wait for the result of an attempt */
};

/* Half open: `open` is set, and the transaction that tries the server has moved `until_us`
 * forward. */
struct breaker {
    bool open;
    unsigned n_slow;
    int64_t until_us; /* raw clock */
};

struct place {
    int64_t number;
    int64_t timeline;
    struct breaker breakers[2]; /* for transactions that read, and that write */
};

struct servers {
    struct servers *next;
    char *url;
    _Atomic int64_t session;

    struct lock lock;
    struct place_range *ranges GUARDED_BY(lock);
    size_t n_ranges GUARDED_BY(lock); /* 0: tenants are not distributed */
    struct place places[PLACES_MAX] GUARDED_BY(lock);
    size_t n_places GUARDED_BY(lock);
};

struct servers *servers_of(const char *url)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct servers *all;
    struct servers *s;

    pthread_mutex_lock(&lock);
    for (s = all; s != NULL && strcmp(s->url, url) != 0;)
        s = s->next;
    if (s == NULL) {
        s = NEW(struct servers);
        s->url = mem_strdup(url);
        lock_init(&s->lock);
        s->next = all;
        all = s;
    }
    pthread_mutex_unlock(&lock);
    return s;
}

/* NULL: there are too many. */
static struct place *find(struct servers *s, int64_t number) REQUIRES(s->lock)
{
    size_t i = 0;

    while (i < s->n_places && s->places[i].number != number)
        i++;
    if (i == PLACES_MAX)
        return NULL;
    if (i == s->n_places)
        s->places[s->n_places++] = (struct place){ .number = number };
    return &s->places[i];
}

static bool is_open(const struct breaker *b, int64_t now_us)
{
    return b->open && now_us < b->until_us;
}

/* A transaction that writes for several tenants needs all servers. */
static bool may_write_everywhere(const struct servers *s, int64_t now_us) REQUIRES(s->lock)
{
    for (size_t i = 0; s->n_ranges > 0 && i < s->n_places; i++)
        if (is_open(&s->places[i].breakers[true], now_us))
            return false;
    return true;
}

bool servers_may_begin(struct servers *s, int64_t number, bool writes)
{
    const int64_t now_us = clock_raw_us();
    struct place *place;
    bool may;

    lock_acquire(&s->lock);
    place = find(s, number);
    may = (place == NULL || !is_open(&place->breakers[writes], now_us)) &&
          (number != 0 || !writes || may_write_everywhere(s, now_us));
    if (may && place != NULL && place->breakers[writes].open)
        place->breakers[writes].until_us = now_us + TRY_US;
    lock_release(&s->lock);
    return may;
}

static void note(struct breaker *b, enum met met, int64_t now_us)
{
    const int64_t until_us = now_us + (met == MET_REFUSAL ? REFUSED_US : SILENT_US);

    if (met == MET_NOTHING) {
        b->until_us = now_us; /* another may try */
        return;
    }
    b->n_slow = met == MET_SLOW ? b->n_slow + 1 : 0;
    if (met == MET_ANSWER) {
        b->open = false;
    } else if (met != MET_SLOW || b->n_slow >= SLOW_MAX) {
        b->until_us = until_us;
        b->open = true;
    }
}

/* A statement on several servers timed out, and it is unknown which server was to blame: postpones
 * the next attempt on all servers whose breaker is open. */
static void note_somewhere(struct servers *s, int64_t now_us) REQUIRES(s->lock)
{
    for (size_t i = 0; i < s->n_places; i++)
        if (s->places[i].breakers[true].open)
            s->places[i].breakers[true].until_us = now_us + SILENT_US;
}

void servers_note(struct servers *s, int64_t number, bool writes, enum met met)
{
    const int64_t now_us = clock_raw_us();
    struct place *place;

    lock_acquire(&s->lock);
    place = find(s, number);
    if (number == 0 && s->n_ranges > 0 && (met == MET_SLOW || met == MET_SILENCE)) {
        if (writes)
            note_somewhere(s, now_us);
    } else if (place != NULL) {
        note(&place->breakers[writes], met, now_us);
    }
    lock_release(&s->lock);
}

bool servers_check_timeline(struct servers *s, int64_t group, int64_t timeline)
{
    struct place *place;
    bool latest = true;

    lock_acquire(&s->lock);
    place = find(s, group + 1);
    if (place != NULL && timeline > place->timeline)
        place->timeline = timeline;
    else if (place != NULL && timeline != 0)
        latest = timeline == place->timeline;
    lock_release(&s->lock);
    return latest;
}

void servers_note_session(struct servers *s)
{
    atomic_fetch_add(&s->session, 1);
}

int64_t servers_session(const struct servers *s)
{
    return atomic_load(&s->session);
}

void servers_set_ranges(struct servers *s, const struct place_range *ranges, size_t n)
{
    struct place_range *copy = mem_new((n == 0 ? 1 : n) * sizeof(*copy)), *before;

    if (n > 0)
        memcpy(copy, ranges, n * sizeof(*copy));
    lock_acquire(&s->lock);
    before = s->ranges;
    s->ranges = copy;
    s->n_ranges = n;
    lock_release(&s->lock);
    free(before);
}

static uint32_t rotate(uint32_t x, unsigned by)
{
    return x << by | x >> (32 - by);
}

/* hashint8() and hash_bytes_uint32() of PostgreSQL: the last mix of Bob Jenkins' lookup3. */
int32_t servers_hash(int64_t tenant_id)
{
    const uint32_t high = (uint32_t)((uint64_t)tenant_id >> 32);
    uint32_t a, b, c;

    a = b = c = 0x9e3779b9U + (uint32_t)sizeof(uint32_t) + 3923095U;
    a += (uint32_t)tenant_id ^ (tenant_id >= 0 ? high : ~high);
    c = (c ^ b) - rotate(b, 14);
    a = (a ^ c) - rotate(c, 11);
    b = (b ^ a) - rotate(a, 25);
    c = (c ^ b) - rotate(b, 16);
    a = (a ^ c) - rotate(c, 4);
    b = (b ^ a) - rotate(a, 14);
    c = (c ^ b) - rotate(b, 24);
    return (int32_t)c;
}

static int64_t place_of_hash(const struct servers *s, int64_t hash) REQUIRES(s->lock)
{
    size_t first = 0, end = s->n_ranges;

    while (first < end) {
        const size_t middle = first + (end - first) / 2;

        if (s->ranges[middle].last < hash)
            first = middle + 1;
        else
            end = middle;
    }
    return first < s->n_ranges && s->ranges[first].first <= hash ? s->ranges[first].place : 0;
}

int64_t db_place_of(const struct db *db, int64_t tenant_id)
{
    struct servers *s = db->servers;
    int64_t place;

    if (s == NULL || tenant_id == 0)
        return 0;
    lock_acquire(&s->lock);
    place = place_of_hash(s, servers_hash(tenant_id));
    lock_release(&s->lock);
    return place;
}

void db_set_place(struct db *db, int64_t place)
{
    db->place = place;
}

/* A single server is unavailable until a transaction has been committed: one is tried every other
 * second. One of several servers counts as available once it may be tried again: there may be no
 * request for its tenants that would close the breaker. */
static bool is_away(const struct place *place, bool one, int64_t now_us)
{
    if (one && place->number == 0)
        return place->breakers[true].open;
    return is_open(&place->breakers[false], now_us) || is_open(&place->breakers[true], now_us);
}

bool db_is_away(const struct db *db, int64_t number)
{
    const int64_t now_us = clock_raw_us();
    struct servers *s = db->servers;
    struct place *place;
    bool away;

    if (s == NULL)
        return false;
    lock_acquire(&s->lock);
    place = find(s, number);
    away = place != NULL && is_away(place, s->n_ranges == 0, now_us);
    lock_release(&s->lock);
    return away;
}

bool db_any_is_away(const struct db *db)
{
    const int64_t now_us = clock_raw_us();
    struct servers *s = db->servers;
    bool away = false;

    if (s == NULL)
        return false;
    lock_acquire(&s->lock);
    for (size_t i = 0; s->n_ranges > 0 && i < s->n_places; i++)
        away = away || is_away(&s->places[i], false, now_us);
    lock_release(&s->lock);
    return away;
}

bool db_all_are_away(const struct db *db)
{
    const int64_t now_us = clock_raw_us();
    struct servers *s = db->servers;
    bool away;

    if (s == NULL)
        return false;
    lock_acquire(&s->lock);
    away = s->n_ranges > 0;
    for (size_t i = 0; away && i < s->n_ranges; i++) {
        const struct place *place = find(s, s->ranges[i].place);

        away = place != NULL && is_away(place, false, now_us);
    }
    lock_release(&s->lock);
    return away;
}

bool db_was_contended(const struct db *db)
{
    return db->contended;
}

int db_contended(struct db *db, const char *text, struct error *err)
{
    db->contended = true;
    return err_set(err, ERR_BUSY, "%s", text);
}

bool db_has_citus(const struct db *db)
{
    return db->citus;
}

bool db_is_worker(const struct db *db)
{
    return db->worker;
}

/* Microseconds since 2024, in 51 bits until the year 2095, and a slot that one connection has at a
 * time. Sequences give smaller ones: rows that were numbered by them come first. */
static const int64_t numbered_since_us = 1704067200LL * USEC_PER_SEC;

int64_t db_number_time(int64_t number)
{
    assert(number >= 0);
    return number / DB_NUMBER_SLOTS + numbered_since_us;
}

int64_t db_number_at(int64_t us)
{
    return us < numbered_since_us ? 0 : (us - numbered_since_us) * DB_NUMBER_SLOTS;
}

int64_t db_number(struct db *db)
{
    const int64_t at = clock_wall_us() - numbered_since_us;

    assert(db->number_slot >= 0 && db->number_slot < DB_NUMBER_SLOTS);
    db->number_at = at > db->number_at ? at : db->number_at + 1;
    return db->number_at * DB_NUMBER_SLOTS + db->number_slot;
}
