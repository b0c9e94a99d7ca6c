/* kinds_memory.c - tables in which each key has one place. */
#include "features/events/kinds/kinds_memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/lock.h"
#include "base/mem.h"
#include "db/db.h"

enum {
    STORED_N = 32768,
    SEEN_N = 65536,
    FULL_N = 256,
    FULL_S = 60,
    CONNECTIONS = 8, /* of writers; a process has two */
};

struct kind_entry {
    int32_t kind_no;
    size_t len;
    char key[];
};

struct full_tenant {
    int64_t tenant_id, until_us; /* monotonic */
};

struct known_connection {
    const struct db *db;
    int64_t session;
};

struct kinds_memory {
    struct lock lock;
    struct kind_entry *stored[STORED_N] GUARDED_BY(lock); /* or NULL */
    uint32_t seen[SEEN_N] GUARDED_BY(lock);               /* hashes; the last bit: more than once */
    struct full_tenant full[FULL_N] GUARDED_BY(lock);
    struct known_connection connections[CONNECTIONS] GUARDED_BY(lock);
};

struct kinds_memory *kinds_memory_new(void)
{
    struct kinds_memory *m = NEW(struct kinds_memory);

    lock_init(&m->lock);
    return m;
}

static void forget_stored(struct kinds_memory *m) REQUIRES(m->lock)
{
    for (size_t i = 0; i < STORED_N; i++) {
        free(m->stored[i]);
        m->stored[i] = NULL;
    }
}

void kinds_memory_free(struct kinds_memory *m)
{
    if (m == NULL)
        return;
    kinds_memory_forget(m);
    lock_done(&m->lock);
    free(m);
}

void kinds_memory_forget(struct kinds_memory *m)
{
    lock_acquire(&m->lock);
    forget_stored(m);
    /* the events of a transaction that is tried again must not count twice */
    memset(m->seen, 0, sizeof(m->seen));
    lock_release(&m->lock);
}

/* The place of the connection, or a free one; NULL: there are too many. */
static struct known_connection *place_of(struct kinds_memory *m, const struct db *db)
    REQUIRES(m->lock)
{
    for (size_t i = 0; i < CONNECTIONS; i++)
        if (m->connections[i].db == db || m->connections[i].db == NULL)
            return &m->connections[i];
    return NULL;
}

void kinds_memory_begin(struct kinds_memory *m, const struct db *db)
{
    const int64_t session = db_session(db);
    struct known_connection *known;

    lock_acquire(&m->lock);
    known = place_of(m, db);
    if (known == NULL || known->db != db || known->session != session)
        forget_stored(m);
    if (known != NULL)
        *known = (struct known_connection){ db, session };
    lock_release(&m->lock);
}

static uint32_t mark_of(uint64_t hash, bool often)
{
    return ((uint32_t)(hash >> 32) & ~1U) | often;
}

static bool is_of(const struct kind_entry *entry, struct str key)
{
    return entry != NULL && str_eq(str_from(entry->key, entry->len), key);
}

enum kind_memory kinds_memory_find(struct kinds_memory *m, struct str key, int32_t *ret_no)
{
    const uint64_t hash = digest_sip(key);
    enum kind_memory ret = KIND_NEW;

    lock_acquire(&m->lock);
    if (is_of(m->stored[hash % STORED_N], key)) {
        *ret_no = m->stored[hash % STORED_N]->kind_no;
        ret = KIND_STORED;
    } else if (m->seen[hash % SEEN_N] == mark_of(hash, true)) {
        ret = KIND_SEEN;
    }
    lock_release(&m->lock);
    return ret;
}

void kinds_memory_add(struct kinds_memory *m, struct str key, int32_t kind_no)
{
    const size_t at = digest_sip(key) % STORED_N;
    struct kind_entry *entry = mem_alloc(sizeof(*entry) + key.len);

    assert(key.len > 0); /* its number may be any */
    entry->kind_no = kind_no;
    entry->len = key.len;
    memcpy(entry->key, key.data, key.len);
    lock_acquire(&m->lock);
    free(m->stored[at]);
    m->stored[at] = entry;
    lock_release(&m->lock);
}

void kinds_memory_saw(struct kinds_memory *m, struct str key)
{
    const uint64_t hash = digest_sip(key);
    uint32_t *place;

    lock_acquire(&m->lock);
    place = &m->seen[hash % SEEN_N];
    *place = mark_of(hash, (*place | 1U) == mark_of(hash, true));
    lock_release(&m->lock);
}

void kinds_memory_set_full(struct kinds_memory *m, int64_t tenant_id)
{
    const int64_t until_us = clock_mono_us() + (int64_t)FULL_S * USEC_PER_SEC;

    assert(tenant_id > 0);
    lock_acquire(&m->lock);
    m->full[tenant_id % FULL_N] = (struct full_tenant){ tenant_id, until_us };
    lock_release(&m->lock);
}

bool kinds_memory_is_full(struct kinds_memory *m, int64_t tenant_id)
{
    bool is_full;

    assert(tenant_id > 0);
    lock_acquire(&m->lock);
    is_full = m->full[tenant_id % FULL_N].tenant_id == tenant_id &&
              m->full[tenant_id % FULL_N].until_us > clock_mono_us();
    lock_release(&m->lock);
    return is_full;
}
