/* event_kinds.c - kinds of events in memory, by their texts. */
#include "features/events/kinds/event_kinds.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/digest.h"
#include "base/map.h"
#include "base/mem.h"
#include "features/events/event_log.h"
#include "features/events/kinds/event_kinds_store.h"
#include "features/events/shapes.h"

enum {
    TEXTS_MIN = 4, /* bytes: fewer are no longer than the number of a kind */
    TEXTS_MAX = 240,
    TEXTS_N = 4,
    SEEN_N = 4096,
};

/* The tenant, the lengths of the texts, and the texts. */
struct kind_key {
    char bytes[sizeof(int64_t) + TEXTS_N + TEXTS_MAX];
    size_t len;
};

struct kind_entry {
    int64_t kind_no;
    size_t len;
    char key[];
};

struct tenant_kinds {
    int64_t tenant_id;
    size_t n;
};

struct event_kinds {
    struct map entries; /* struct kind_entry */
    struct map tenants; /* struct tenant_kinds */
    int64_t next_no;
    bool loaded, added;    /* `added`: by this transaction */
    uint64_t seen[SEEN_N]; /* hashes of combinations that came once, each in its place */
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

static void unload(struct event_kinds *k)
{
    drop_values(&k->entries);
    drop_values(&k->tenants);
    k->loaded = k->added = false;
}

void event_kinds_free(struct event_kinds *k)
{
    if (k == NULL)
        return;
    unload(k);
    map_done(&k->entries);
    map_done(&k->tenants);
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

    entry->kind_no = kind_no;
    entry->len = key->len;
    memcpy(entry->key, key->bytes, key->len);
    free(map_put(&k->entries, str_from(entry->key, entry->len), entry));
    tenant_of(k, tenant_id)->n++;
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
static bool is_seen(struct event_kinds *k, const struct kind_key *key)
{
    const uint64_t hash = digest_sip(str_from(key->bytes, key->len));
    uint64_t *place = &k->seen[hash % SEEN_N];
    const bool seen = *place == hash;

    *place = hash;
    return seen;
}

int event_kinds_find(struct event_kinds *k, struct db *db, const struct event_item *item,
                     int64_t *ret, struct error *err)
{
    const struct telemetry_event *e = item->event;
    const struct event_kind kind = { item->tenant_id, e->agent_version, e->level, e->category,
                                     e->source };
    const struct kind_entry *entry;
    struct kind_key key;

    *ret = 0;
    if (!make_key(&kind, &key))
        return 0;
    if (!k->loaded && load(k, db, err) != 0)
        return -1;
    entry = map_get(&k->entries, str_from(key.bytes, key.len));
    if (entry != NULL) {
        *ret = entry->kind_no;
        return 0;
    }
    if (k->entries.n >= EVENT_KINDS_MAX ||
        tenant_of(k, kind.tenant_id)->n >= EVENT_KINDS_PER_TENANT || !is_seen(k, &key))
        return 0;
    if (store_add_event_kind(db, k->next_no, &kind, err) != 0)
        return -1;
    k->added = true;
    *ret = k->next_no;
    remember(k, k->next_no, kind.tenant_id, &key);
    return 0;
}

void event_kinds_committed(struct event_kinds *k)
{
    k->added = false;
}

void event_kinds_rolled_back(struct event_kinds *k)
{
    if (k->added)
        unload(k);
}
