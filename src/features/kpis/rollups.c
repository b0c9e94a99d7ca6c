/* rollups.c - collects a transaction's changes of values and updates their totals. */
#include "features/kpis/rollups.h"

#include <stdlib.h>

#include "base/mem.h"
#include "features/access/retention_store.h"
#include "features/kpis/rollup_group.h"
#include "shape/timerange.h"

struct rollups *rollups_new(void)
{
    struct rollups *r = NEW(struct rollups);

    arena_init(&r->arena);
    map_init(&r->series_by_id);
    map_init(&r->buckets_by_id);
    return r;
}

void rollups_free(struct rollups *r)
{
    if (r == NULL)
        return;
    map_done(&r->series_by_id);
    map_done(&r->buckets_by_id);
    arena_done(&r->arena);
    free((void *)r->series);
    for (size_t i = 0; i < ROLLUP_LEVELS; i++)
        free((void *)r->levels[i].items);
    free((void *)r->unknown.items);
    free((void *)r->kept.items);
    free((void *)r->empty.items);
    free(r);
}

void rollups_forget(struct rollups *r)
{
    if (r->n_series == 0)
        return;
    map_done(&r->series_by_id);
    map_done(&r->buckets_by_id);
    map_init(&r->series_by_id);
    map_init(&r->buckets_by_id);
    arena_reset(&r->arena);
    r->n_series = 0;
    for (size_t i = 0; i < ROLLUP_LEVELS; i++)
        r->levels[i].n = 0;
}

static enum bucket bucket_of(enum rollup_level level)
{
    return level == ROLLUP_HOUR ? BUCKET_HOUR : BUCKET_DAY;
}

int64_t rollup_start(enum rollup_level level, int64_t us)
{
    return timerange_bucket_start(bucket_of(level), us);
}

int64_t rollup_next(enum rollup_level level, int64_t us)
{
    return timerange_bucket_next(bucket_of(level), us);
}

static struct rollup_series *add_series(struct rollups *r, const struct rollup_owner *owner,
                                        struct str id)
{
    struct rollup_series *series = ARENA_NEW(&r->arena, struct rollup_series);

    *series = (struct rollup_series){ .tenant_id = owner->tenant_id,
                                      .agent_id = owner->agent_id,
                                      .key = { arena_copy(&r->arena, owner->key.key),
                                               arena_copy(&r->arena, owner->key.full) },
                                      .id = arena_copy(&r->arena, id) };
    (void)map_put(&r->series_by_id, series->id, series);
    r->series = (struct rollup_series **)mem_grow((void *)r->series, r->n_series,
                                                  &r->series_capacity, sizeof(*r->series));
    r->series[r->n_series++] = series;
    return series;
}

static struct rollup_series *find_series(struct rollups *r, const struct rollup_owner *owner)
{
    const int64_t numbers[] = { owner->tenant_id, owner->agent_id };
    size_t len = sizeof(numbers) + owner->key.key.len;
    char id[sizeof(numbers) + NAME_KEY_LEN_MAX];
    struct rollup_series *series;

    memcpy(id, numbers, sizeof(numbers));
    memcpy(id + sizeof(numbers), owner->key.key.data, owner->key.key.len);
    series = map_get(&r->series_by_id, str_from(id, len));
    return series != NULL ? series : add_series(r, owner, str_from(id, len));
}

static void list_add(struct rollup_list *list, struct rollup_bucket *bucket)
{
    list->items = (struct rollup_bucket **)mem_grow((void *)list->items, list->n, &list->capacity,
                                                    sizeof(*list->items));
    list->items[list->n++] = bucket;
}

/* The key in buckets_by_id. */
struct bucket_id {
    const struct rollup_series *series;
    int64_t level, start;
};

static struct rollup_bucket *find_bucket(struct rollups *r, struct rollup_series *series,
                                         enum rollup_level level, int64_t timestamp)
{
    const struct bucket_id id = { series, (int64_t)level, rollup_start(level, timestamp) };
    struct rollup_bucket *bucket =
        map_get(&r->buckets_by_id, str_from((const char *)&id, sizeof(id)));

    if (bucket != NULL)
        return bucket;
    bucket = ARENA_NEW(&r->arena, struct rollup_bucket);
    bucket->series = series;
    bucket->level = level;
    bucket->start = id.start;
    bucket->id = arena_copy(&r->arena, str_from((const char *)&id, sizeof(id)));
    (void)map_put(&r->buckets_by_id, bucket->id, bucket);
    list_add(&r->levels[level], bucket);
    return bucket;
}

void rollups_add(struct rollups *r, const struct rollup_owner *owner, const struct kpi_value *value,
                 const struct kpi_stamp *place)
{
    struct rollup_series *series = find_series(r, owner);

    for (enum rollup_level level = ROLLUP_HOUR; level < ROLLUP_LEVELS; level++)
        kpi_state_add(&find_bucket(r, series, level, place->timestamp)->added, value, place);
}

void rollups_remove(struct rollups *r, const struct rollup_owner *owner,
                    const struct kpi_value *value, const struct kpi_stamp *place)
{
    struct rollup_series *series = find_series(r, owner);

    for (enum rollup_level level = ROLLUP_HOUR; level < ROLLUP_LEVELS; level++) {
        struct rollup_bucket *bucket = find_bucket(r, series, level, place->timestamp);

        if (bucket->removed == NULL)
            bucket->removed = ARENA_NEW(&r->arena, struct kpi_state);
        kpi_state_add(bucket->removed, value, place);
    }
}

/* If values of the hour may have been deleted by retention, its maximum and last value cannot be
 * known: they stay as they are. The retention mark is read after the values: if a deleted value was
 * not seen, the mark set with its deletion is. */
static int apply_found(struct rollups *r, struct db *db, enum rollup_level level, struct error *err)
{
    struct retention_marks marks = { 0 };
    int64_t tenant_id = 0; /* of the marks */

    for (size_t i = 0; i < r->unknown.n; i++) {
        struct rollup_bucket *bucket = r->unknown.items[i];

        if (level == ROLLUP_HOUR && bucket->series->tenant_id != tenant_id) {
            tenant_id = bucket->series->tenant_id;
            if (store_retention_marks(db, tenant_id, &marks, err) != 0)
                return -1;
        }
        if (level != ROLLUP_HOUR || bucket->start >= marks.business_until)
            kpi_state_take_extremes(&bucket->stored, bucket->found);
    }
    return 0;
}

static int settle_level(struct rollups *r, struct db *db, enum rollup_level level,
                        struct error *err)
{
    const struct rollup_list *list = &r->levels[level];

    if (rollup_rows_load(db, r, list, err) != 0)
        return -1;
    r->unknown.n = 0;
    for (size_t i = 0; i < list->n; i++) {
        struct rollup_bucket *bucket = list->items[i];

        kpi_state_merge(&bucket->stored, &bucket->added);
        if (bucket->removed != NULL && !kpi_state_remove(&bucket->stored, bucket->removed))
            list_add(&r->unknown, bucket); /* the maximum or the last value may be gone */
    }
    if (r->unknown.n > 0 && (rollup_rows_find(db, r, level, &r->unknown, err) != 0 ||
                             apply_found(r, db, level, err) != 0))
        return -1;
    r->kept.n = r->empty.n = 0;
    for (size_t i = 0; i < list->n; i++)
        list_add(list->items[i]->stored.n > 0 ? &r->kept : &r->empty, list->items[i]);
    if (rollup_rows_save(db, r, &r->kept, err) != 0)
        return -1;
    return rollup_rows_delete(db, r, &r->empty, err);
}

/* Hours first: a day's maximum and last value are searched among them. */
int rollups_settle(struct rollups *r, struct db *db, struct error *err)
{
    if (r->n_series == 0)
        return 0;
    if (rollup_rows_resolve(db, r, err) != 0 || settle_level(r, db, ROLLUP_HOUR, err) != 0 ||
        settle_level(r, db, ROLLUP_DAY, err) != 0)
        return -1;
    rollups_forget(r);
    return 0;
}
