/* event_kinds.c - kinds of events in memory, by their texts. */
#include "features/events/kinds/event_kinds.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "features/events/event_log.h"
#include "features/events/kinds/event_kinds_store.h"
#include "features/events/shapes.h"

enum {
    TEXTS_MIN = 4, /* bytes: fewer are no longer than the number of a kind */
    TEXTS_MAX = 240,
    TEXTS_N = 4,
    SEEN_N = 512,
};

/* The tenant, the lengths of the texts, and the texts. */
struct kind_key {
    char bytes[sizeof(int64_t) + TEXTS_N + TEXTS_MAX];
    size_t len;
};

struct kind_entry {
    int64_t kind_no, tenant_id;
    unsigned sweep; /* during which it was used last */
    size_t len;
    char key[];
};

struct tenant_kinds {
    int64_t tenant_id;
    size_t n;
    bool told;             /* that it has no room for more */
    uint32_t seen[SEEN_N]; /* of hashes of combinations that came once, each in its place */
};

struct event_kinds {
    struct map entries; /* struct kind_entry */
    struct map tenants; /* struct tenant_kinds */
    size_t further;     /* kinds beyond the first ones of their tenants */
    int64_t next_no;
    unsigned sweep;       /* the last that began */
    bool loaded, changed; /* `changed`: by this transaction */
    atomic_bool many;     /* for other threads */
};

struct event_kinds *event_kinds_new(void)
{
    struct event_kinds *k = NEW(struct event_kinds);

    map_init(&k->entries);
    map_init(&k->tenants);
    return k;
}

static void drop_values(struct map *m)
{
    size_t at = 0;
    void *value;

    while ((value = map_next(m, &at)) != NULL)
        free(value);
    map_done(m);
    map_init(m);
}

/* What came once stays known. */
static void unload(struct event_kinds *k)
{
    struct tenant_kinds *tenant;
    size_t at = 0;

    drop_values(&k->entries);
    while ((tenant = map_next(&k->tenants, &at)) != NULL)
        tenant->n = 0;
    k->further = 0;
    k->loaded = k->changed = false;
}

void event_kinds_free(struct event_kinds *k)
{
    if (k == NULL)
        return;
    drop_values(&k->entries);
    drop_values(&k->tenants);
    free(k);
}

/* False: too short or too long to be a kind. */
static bool make_key(const struct event_kind *kind, struct kind_key *ret)
{
    const struct str texts[TEXTS_N] = { kind->agent_version, kind->level, kind->category,
                                        kind->source };
    size_t sum = 0;
    char *to = ret->bytes;

    for (size_t i = 0; i < TEXTS_N; i++)
        sum += texts[i].len;
    if (sum < TEXTS_MIN || sum > TEXTS_MAX)
        return false;
    memcpy(to, &kind->tenant_id, sizeof(kind->tenant_id));
    to += sizeof(kind->tenant_id);
    for (size_t i = 0; i < TEXTS_N; i++)
        *to++ = (char)texts[i].len;
    for (size_t i = 0; i < TEXTS_N; i++) {
        if (texts[i].len > 0)
            memcpy(to, texts[i].data, texts[i].len);
        to += texts[i].len;
    }
    ret->len = (size_t)(to - ret->bytes);
    assert(ret->len <= sizeof(ret->bytes));
    return true;
}

static struct tenant_kinds *tenant_of(struct event_kinds *k, int64_t tenant_id)
{
    struct tenant_kinds *t =
        map_get(&k->tenants, str_from((const char *)&tenant_id, sizeof(tenant_id)));

    if (t != NULL)
        return t;
    t = NEW(struct tenant_kinds);
    t->tenant_id = tenant_id;
    (void)map_put(&k->tenants, str_from((const char *)&t->tenant_id, sizeof(t->tenant_id)), t);
    return t;
}

static void remember(struct event_kinds *k, int64_t kind_no, int64_t tenant_id,
                     const struct kind_key *key)
{
    struct kind_entry *entry = mem_alloc(sizeof(*entry) + key->len);
    struct tenant_kinds *tenant = tenant_of(k, tenant_id);

    entry->kind_no = kind_no;
    entry->tenant_id = tenant_id;
    entry->sweep = k->sweep;
    entry->len = key->len;
    memcpy(entry->key, key->bytes, key->len);
    free(map_put(&k->entries, str_from(entry->key, entry->len), entry));
    if (++tenant->n > EVENT_KINDS_FIRST)
        k->further++;
    if (tenant->n >= EVENT_KINDS_PER_TENANT / 2 || k->further >= EVENT_KINDS_MAX / 2)
        atomic_store(&k->many, true);
    if (k->next_no <= kind_no)
        k->next_no = kind_no + 1;
}

static void load_kind(void *ctx, int64_t kind_no, const struct event_kind *kind)
{
    struct event_kinds *k = ctx;
    struct kind_key key;

    if (make_key(kind, &key))
        remember(k, kind_no, kind->tenant_id, &key);
    else if (k->next_no <= kind_no) /* damaged: its number stays in use */
        k->next_no = kind_no + 1;
}

static int load(struct event_kinds *k, struct db *db, struct error *err)
{
    unload(k);
    k->next_no = 1;
    if (store_event_kinds(db, load_kind, k, err) != 0)
        return -1;
    k->loaded = true;
    return 0;
}

/* Did it come before, as far as is remembered? */
static bool is_seen(struct tenant_kinds *t, const struct kind_key *key)
{
    const uint64_t hash = digest_sip(str_from(key->bytes, key->len));
    uint32_t *place = &t->seen[hash % SEEN_N], mark = (uint32_t)(hash >> 32);
    const bool seen = *place == mark;

    *place = mark;
    return seen;
}

/* The first kinds of a tenant are counted apart, so that other tenants' many take none of them. */
static bool has_room(const struct event_kinds *k, const struct tenant_kinds *t)
{
    if (t->n < EVENT_KINDS_FIRST)
        return k->entries.n - k->further < EVENT_KINDS_FIRST_MAX;
    return t->n < EVENT_KINDS_PER_TENANT && k->further < EVENT_KINDS_MAX;
}

/* An event keeps its texts although they might have had a number. */
static void note_full(struct event_kinds *k, struct tenant_kinds *t)
{
    atomic_store(&k->many, true);
    metric_add(METRIC_KINDS_REFUSED, 1);
    if (!t->told)
        log_write(LOG_WARNING, "storage",
                  "tenant %lld has %zu combinations of version, level, category and source, and "
                  "there is no room for more: events with others take more bytes",
                  (long long)t->tenant_id, t->n);
    t->told = true;
}

int event_kinds_find(struct event_kinds *k, struct db *db, const struct event_item *item,
                     int64_t *ret, struct error *err)
{
    const struct telemetry_event *e = item->event;
    const struct event_kind kind = { item->tenant_id, e->agent_version, e->level, e->category,
                                     e->source };
    struct kind_entry *entry;
    struct tenant_kinds *tenant;
    struct kind_key key;

    *ret = 0;
    if (!make_key(&kind, &key))
        return 0;
    if (!k->loaded && load(k, db, err) != 0)
        return -1;
    entry = map_get(&k->entries, str_from(key.bytes, key.len));
    if (entry != NULL) {
        entry->sweep = k->sweep;
        *ret = entry->kind_no;
        return 0;
    }
    tenant = tenant_of(k, kind.tenant_id);
    if (!is_seen(tenant, &key))
        return 0;
    if (!has_room(k, tenant)) {
        note_full(k, tenant);
        return 0;
    }
    if (store_add_event_kind(db, k->next_no, &kind, err) != 0)
        return -1;
    k->changed = true;
    *ret = k->next_no;
    remember(k, k->next_no, kind.tenant_id, &key);
    return 0;
}

void event_kinds_committed(struct event_kinds *k)
{
    k->changed = false;
}

void event_kinds_rolled_back(struct event_kinds *k)
{
    if (k->changed)
        unload(k);
}

bool event_kinds_are_many(const struct event_kinds *k)
{
    return atomic_load(&k->many);
}

int event_kinds_begin_sweep(struct event_kinds *k, struct db *db, int64_t *ret_below,
                            struct error *err)
{
    if (!k->loaded && load(k, db, err) != 0)
        return -1;
    k->sweep++;
    atomic_store(&k->many, false);
    *ret_below = k->next_no;
    return 0;
}

static bool is_unused(const struct event_kinds *k, const struct kind_entry *entry,
                      const struct kinds_used *used)
{
    return entry->kind_no < used->below_no && entry->sweep != k->sweep &&
           (used->bits[entry->kind_no / 8] >> (entry->kind_no % 8) & 1) == 0;
}

static void forget(struct event_kinds *k, struct kind_entry *entry)
{
    if (tenant_of(k, entry->tenant_id)->n-- > EVENT_KINDS_FIRST)
        k->further--;
    (void)map_remove(&k->entries, str_from(entry->key, entry->len));
    free(entry);
}

int event_kinds_drop(struct event_kinds *k, struct db *db, const struct kinds_used *used,
                     size_t most, size_t *ret, struct error *err)
{
    struct kind_entry **found, *entry;
    size_t at = 0, n = 0;
    int r = 0;

    *ret = 0;
    if (!k->loaded) /* after a rollback it is not known which were used meanwhile */
        return 0;
    found = (struct kind_entry **)mem_new(most * sizeof(*found));
    while (n < most && (entry = map_next(&k->entries, &at)) != NULL)
        if (is_unused(k, entry, used))
            found[n++] = entry;
    k->changed |= n > 0;
    for (size_t i = 0; i < n && r == 0; i++) {
        r = store_drop_event_kind(db, found[i]->kind_no, err);
        if (r == 0)
            forget(k, found[i]);
    }
    free((void *)found);
    *ret = n;
    return r;
}
