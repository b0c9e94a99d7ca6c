/* key_rotation.c - creates a key's successor. */
#include "features/access/key_rotation.h"

#include <assert.h>

#include "base/buf.h"
#include "base/clock.h"
#include "features/access/keys_store.h"
#include "features/access/registry.h"
#include "features/access/shapes.h"
#include "features/access/tenants.h"

/* {"successor":"key_…","replaced":["key_…"]}; ids need no escapes. */
static struct str detail_of(struct str successor, const struct list *replaced, struct arena *arena)
{
    const struct str *ids = replaced->items;
    BUF_SCOPED(text, SIZE_MAX); /* bounded: each rotation leaves at most one unused successor */

    buf_printf(&text, "{\"successor\":\"%.*s\",\"replaced\":[", STR_ARG(successor));
    for (size_t i = 0; i < replaced->n; i++)
        buf_printf(&text, "%s\"%.*s\"", i > 0 ? "," : "", STR_ARG(ids[i]));
    buf_add(&text, STR_LIT("]}"));
    return buf_take(&text, arena);
}

static bool is_over(const struct key_row *key, int64_t now_us)
{
    return key->revoked_at != TIME_NULL ||
           (key->expires_at != TIME_NULL && key->expires_at <= now_us) ||
           (key->rotated_at != TIME_NULL && key->rotated_at + KEY_GRACE_US <= now_us);
}

static int64_t valid_until(const struct key_row *old, int64_t now_us)
{
    int64_t until = (old->rotated_at == TIME_NULL ? now_us : old->rotated_at) + KEY_GRACE_US;

    return old->expires_at == TIME_NULL || until < old->expires_at ? until : old->expires_at;
}

/* A clock that was set back does not let more through: rows of the future count too. */
static int check_pace(struct db *db, const struct key_row *key, int64_t now_us,
                      struct rotation *ret, struct error *err)
{
    const int64_t window_us = (int64_t)ROTATIONS_WINDOW_S * USEC_PER_SEC;
    struct key_rotations rotations;
    int64_t wait_us;

    if (store_key_rotations(db, key, now_us - window_us, &rotations, err) != 0)
        return -1;
    if (rotations.n < ret->per_hour_max)
        return 0;
    wait_us = rotations.first_at + window_us - now_us;
    if (wait_us > window_us)
        wait_us = window_us;
    ret->wait_s = (wait_us + USEC_PER_SEC - 1) / USEC_PER_SEC;
    assert(ret->wait_s > 0);
    return err_set(err, ERR_BUSY, "the key was rotated too often");
}

/* Stores the successor. */
static int add_successor(struct db *db, const struct key_row *old, int64_t now_us,
                         struct arena *arena, struct key_refreshed *ret, struct error *err)
{
    struct key_row fresh = { .tenant_id = old->tenant_id,
                             .agent_name = old->agent_name,
                             .read_only = old->read_only,
                             .label = old->label,
                             .expires_at = old->expires_at,
                             .predecessor = old->key_id,
                             .line = old->line };
    struct str token;

    if (key_make(db, &fresh, arena, &token, err) != 0)
        return -1;
    assert(!str_eq(fresh.key_id, old->key_id) && str_eq(fresh.predecessor, old->key_id));
    assert(valid_until(old, now_us) > now_us); /* the old key stays valid for its grace period */
    *ret = (struct key_refreshed){ .token = token,
                                   .key_id = fresh.key_id,
                                   .kind = token_kind_name(key_kind(&fresh)),
                                   .agent_name = fresh.agent_name,
                                   .previous_key_valid_until = valid_until(old, now_us) };
    return 0;
}

int rotation_apply(struct db *db, const struct key_name *key, struct arena *arena,
                   struct rotation *ret, struct error *err)
{
    int64_t now_us = clock_wall_us();
    struct list replaced;
    struct key_row old;

    if (store_key_lock(db, key->tenant_id, key->key_id, arena, &old, err) != 0)
        return -1;
    if (is_over(&old, now_us))
        return err_set(err, ERR_UNAUTHORIZED, "the key is no longer valid");
    if (check_pace(db, &old, now_us, ret, err) != 0 ||
        store_key_rotated(db, &old, now_us, arena, &replaced, err) != 0 ||
        add_successor(db, &old, now_us, arena, ret->answer, err) != 0 ||
        store_keys_forget(db, &old, now_us - KEY_DEAD_US, arena, err) != 0)
        return -1;
    ret->detail = detail_of(ret->answer->key_id, &replaced, arena);
    return 0;
}
