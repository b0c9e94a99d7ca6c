/* key_routes.c - keys of a tenant, for its admins; and rotation, for keys themselves too.
 *
 * A key that is rotated gets a successor and stays valid for five minutes, which
 * begin with the first rotation. Rotating the key again within them revokes its
 * unused successors, since their replies may have been lost; a used one stays.
 * The transaction knows which were used: a first use is stored before it is
 * answered (key_use.h).
 *
 * A key and all that were made from it by rotation are a line. A line has a
 * bounded number of rotations per hour, in all processes together. Its first key
 * and its newest hundred stay as rows; older ones, which ended more than a day ago,
 * are only in the audit log.
 */
#include <assert.h>

#include "api/api.h"
#include "api/call.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/digest.h"
#include "cli/settings.h"
#include "engine/engine.h"
#include "features/access/auth.h"
#include "features/access/keys.h"
#include "features/access/registry.h"
#include "features/access/routes.h"
#include "features/access/shapes.h"

enum { KEYS_MAX = 10000, ROTATIONS_WINDOW_S = 3600 };

/* Stores a key with the row's tenant, kind, label, expiry and predecessor, and fills in the rest
 * of the row. *ret_token is the only copy of the token, in the arena. */
static int key_make(struct db *db, struct key_row *row, struct arena *arena, struct str *ret_token,
                    struct error *err)
{
    char token[TOKEN_LEN + 1];

    assert(row->tenant_id > 0);
    token_make(key_kind(row), token);
    assert(token_is_well_formed(str_from(token, TOKEN_LEN)));
    row->key_id = digest_random_id("key_", arena);
    row->digest = digest_sha256(str_from(token, TOKEN_LEN));
    row->created_at = clock_wall_us();
    row->last_used_at = row->revoked_at = row->rotated_at = row->first_used_at = TIME_NULL;
    if (key_add(db, row, err) != 0)
        return -1;
    *ret_token = arena_copy(arena, str_from(token, TOKEN_LEN));
    return 0;
}

/* The key for the audit log, without its token. */
static struct str detail_of(const struct key_created *made, struct arena *arena)
{
    const bool bound = !str_is_null(made->agent_name), ends = made->expires_at != TIME_NULL;
    char at[DATETIME_TEXT_MAX];
    BUF_SCOPED(text, SIZE_MAX); /* bounded by the size of the request */

    buf_printf(&text, "{\"kind\":\"%.*s\"", STR_ARG(made->kind));
    if (bound) {
        buf_add_c(&text, ",\"agent_name\":");
        buf_add_json(&text, made->agent_name);
    }
    if (ends)
        buf_printf(&text, ",\"expires_at\":\"%s\"", datetime_format(made->expires_at, at).data);
    buf_add_char(&text, '}');
    return buf_take(&text, arena);
}

/* Rotations add none: a predecessor ends. */
static int check_room(struct db *db, int64_t tenant_id, struct error *err)
{
    int64_t n = 0;

    if (keys_count(db, tenant_id, &n, err) != 0)
        return -1;
    return n < KEYS_MAX
               ? 0
               : err_set(err, ERR_CONFLICT,
                         "There are %lld keys already, which is the limit: revoke keys that are not"
                         " needed, expired ones too",
                         (long long)n);
}

static int keys_add(struct api_call *call, struct db *db, struct error *err)
{
    const struct key_create *create = call->body;
    struct key_created *answer = call->answer;
    struct key_row row = { .tenant_id = call->tenant_id,
                           .agent_name = create->agent_name,
                           .read_only = create->read_only,
                           .label = create->label,
                           .expires_at = create->expires_at };
    struct str token;

    if (check_room(db, call->tenant_id, err) != 0 ||
        key_make(db, &row, call->arena, &token, err) != 0)
        return -1;
    *answer = (struct key_created){ .key_id = row.key_id,
                                    .token = token,
                                    .kind = str_of(token_kind_names[key_kind(&row)]),
                                    .agent_name = row.agent_name,
                                    .label = row.label,
                                    .created_at = row.created_at,
                                    .expires_at = row.expires_at };
    call->audit_target = row.key_id;
    call->audit_detail = detail_of(answer, call->arena);
    return 0;
}

/* Refuses a key that could never be used. */
static int check_key(struct api_call *call, struct error *err)
{
    const struct key_create *create = call->body;

    if (!str_is_null(create->agent_name) && create->agent_name.len == 0)
        return call_refuse_body(call, err, "agent_name", STR_NULL,
                                "Agent name must not be empty; null creates a workspace key");
    if (create->read_only && !str_is_null(create->agent_name))
        return call_refuse_body(call, err, "read_only", STR_NULL,
                                "A read-only key cannot be bound to an agent");
    if (create->expires_at != TIME_NULL && create->expires_at <= clock_wall_us())
        return call_refuse_body(call, err, "expires_at", STR_NULL,
                                "The expiry is in the past: the key could never be used");
    return call_proceed(call, err);
}

/* Includes last uses that this process has not stored yet. */
static int keys_list(struct api_call *call, struct db *db, struct error *err)
{
    const struct keys_query *query = call->query;
    /* one more than the page, to know whether there is another */
    const struct keys_page page = { call->tenant_id, query->cursor, query->limit + 1 };
    struct registry *registry = access_registry(call->api->engine);
    struct listing *answer = call->answer;
    struct key *keys;

    assert(call->tenant_id > 0 && query->limit > 0);
    if (keys_load(db, &page, call->arena, &answer->list, err) != 0)
        return err->code != ERR_NOT_FOUND
                   ? -1
                   : call_refuse_query(call, err, "cursor", query->cursor,
                                       "Is not the `next` of an earlier page");
    keys = answer->list.items;
    answer->next = STR_NULL;
    if (answer->list.n > (size_t)query->limit) {
        answer->list.n = (size_t)query->limit;
        answer->next = keys[answer->list.n - 1].key_id;
    }
    for (size_t i = 0; i < answer->list.n; i++)
        keys[i].last_used_at = key_use_last(registry, keys[i].key_id, keys[i].last_used_at);
    return 0;
}

/* ["key_…","key_…"]; ids need no escapes. */
static void add_ids(struct buf *text, const struct list *keys)
{
    const struct str *ids = keys->items;

    for (size_t i = 0; i < keys->n; i++)
        buf_printf(text, "%s\"%.*s\"", i > 0 ? "," : "[", STR_ARG(ids[i]));
    buf_add_c(text, keys->n > 0 ? "]" : "[]");
}

/* Revokes the key and, unless `only`, all that were made from it by rotation. */
static int keys_revoke(struct api_call *call, struct db *db, struct error *err)
{
    const struct key_path *path = call->params;
    const struct revoke_query *query = call->query;
    struct keys_revoked *answer = call->answer;
    const struct key_revocation revocation = { .tenant_id = call->tenant_id,
                                               .key_id = path->key_id,
                                               .descent = !query->only,
                                               .now_us = clock_wall_us() };
    BUF_SCOPED(text, SIZE_MAX); /* bounded by the rotations of a line */

    call->audit_target = path->key_id;
    if (key_revoke(db, &revocation, call->arena, &answer->revoked, err) != 0)
        return -1;
    buf_add_c(&text, "{\"revoked\":");
    add_ids(&text, &answer->revoked);
    buf_add_c(&text, query->only ? ",\"only\":true}" : "}");
    call->audit_detail = buf_take(&text, call->arena);
    return 0;
}

/* Rotation */

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
static int check_pace(struct api_call *call, struct db *db, const struct key_row *key,
                      int64_t now_us, struct error *err)
{
    const int64_t window_us = (int64_t)ROTATIONS_WINDOW_S * USEC_PER_SEC;
    const int64_t max = engine_settings(call->api->engine)->key_rotations_per_hour;
    struct key_rotations rotations;
    int64_t wait_us;

    if (key_rotations_load(db, key, now_us - window_us, &rotations, err) != 0)
        return -1;
    if (rotations.n < max)
        return 0;
    wait_us = rotations.first_at + window_us - now_us;
    if (wait_us > window_us)
        wait_us = window_us;
    call->rate.reset_s = (wait_us + USEC_PER_SEC - 1) / USEC_PER_SEC;
    assert(call->rate.reset_s > 0);
    return call_refuse(call, err, 429,
                       "The key was rotated too often: at most %lld rotations in an hour for a "
                       "key and its successors",
                       (long long)max);
}

/* Stores the successor, and answers with it. */
static int add_successor(struct api_call *call, struct db *db, const struct key_row *old,
                         int64_t now_us, struct error *err)
{
    struct key_refreshed *answer = call->answer;
    struct key_row fresh = { .tenant_id = old->tenant_id,
                             .agent_name = old->agent_name,
                             .read_only = old->read_only,
                             .label = old->label,
                             .expires_at = old->expires_at,
                             .predecessor = old->key_id,
                             .line = old->line };
    struct str token;

    if (key_make(db, &fresh, call->arena, &token, err) != 0)
        return -1;
    assert(!str_eq(fresh.key_id, old->key_id) && str_eq(fresh.predecessor, old->key_id));
    assert(valid_until(old, now_us) > now_us); /* the old key stays valid for its grace period */
    *answer = (struct key_refreshed){ .token = token,
                                      .key_id = fresh.key_id,
                                      .kind = str_of(token_kind_names[key_kind(&fresh)]),
                                      .agent_name = fresh.agent_name,
                                      .previous_key_valid_until = valid_until(old, now_us) };
    return 0;
}

/* ERR_NOT_FOUND; ERR_UNAUTHORIZED when the key is no longer valid; 429 when its line was rotated
 * too often. */
static int rotate(struct api_call *call, struct db *db, struct str key_id, struct error *err)
{
    const struct key_refreshed *answer = call->answer;
    const int64_t now_us = clock_wall_us();
    struct list replaced;
    struct key_row old;
    BUF_SCOPED(text, SIZE_MAX); /* bounded: each rotation leaves at most one unused successor */

    call->audit_target = key_id;
    if (key_lock(db, call->tenant_id, key_id, call->arena, &old, err) != 0)
        return -1;
    if (is_over(&old, now_us))
        return err_set(err, ERR_UNAUTHORIZED, "the key is no longer valid");
    if (check_pace(call, db, &old, now_us, err) != 0 ||
        key_rotated(db, &old, now_us, call->arena, &replaced, err) != 0 ||
        add_successor(call, db, &old, now_us, err) != 0 ||
        keys_forget(db, &old, now_us - KEY_DEAD_US, call->arena, err) != 0)
        return -1;
    buf_printf(&text, "{\"successor\":\"%.*s\",\"replaced\":", STR_ARG(answer->key_id));
    add_ids(&text, &replaced);
    buf_add_char(&text, '}');
    call->audit_detail = buf_take(&text, call->arena);
    return 0;
}

static int rotate_own_key(struct api_call *call, struct db *db, struct error *err)
{
    return rotate(call, db, call->caller->key->key_id, err);
}

static int rotate_key(struct api_call *call, struct db *db, struct error *err)
{
    const struct key_path *path = call->params;

    if (rotate(call, db, path->key_id, err) == 0)
        return 0;
    if (err->code == ERR_UNAUTHORIZED) /* the key in the path is invalid, not the caller's */
        return err_set(err, ERR_CONFLICT, "The key was revoked, has expired or was replaced");
    return -1;
}

/* clang-format off */
const struct route key_routes[] = {
    { ROUTE(POST, "/api/v1/agents/refresh-key", ANY_KEY, 200), .change = rotate_own_key, .answer = &key_refreshed_shape, .audit = "key.rotate",
      .id = "rotate_own_key", .summary = "Rotate the key that makes this request",
      .description = "Answers a new token for the same workspace and agent. The old key stays valid for five minutes after its first rotation. If the answer was lost, rotate again with the old key. At most ten rotations per hour for a key and its successors: then 429." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/keys", ADMIN, 200), .read = keys_list, .params = &tenant_path_shape, .query = &keys_query_shape, .answer = &key_list_shape,
      .id = "list_keys", .summary = "List a workspace's keys",
      .description = "Ids, labels, agents, expiry and last use, oldest first. Tokens are not stored and cannot be shown again. Pass `next` as `cursor` to read on." },
    { ROUTE(POST, "/api/v1/tenants/{slug}/keys", ADMIN, 201), .handler = check_key, .change = keys_add, .params = &tenant_path_shape, .body = &key_create_shape, .answer = &key_created_shape, .audit = "key.add",
      .id = "create_key", .summary = "Create a key",
      .description = "The answer holds the token, which is shown only this once. With `agent_name` the key is bound to that agent; without it, it is a workspace key. With `read_only` it reads what a workspace key reads and reports nothing." },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/keys/{key_id}", ADMIN, 200), .change = keys_revoke, .params = &key_path_shape, .query = &revoke_query_shape, .answer = &keys_revoked_shape, .audit = "key.revoke",
      .id = "revoke_key", .summary = "Revoke a key",
      .description = "In effect at once, and ends its live streams and exports. Also revokes all keys that were made from it by rotation, unless `only` is true. The answer names the keys that were revoked." },
    { ROUTE(POST, "/api/v1/tenants/{slug}/keys/{key_id}/rotate", ADMIN, 200), .change = rotate_key, .params = &key_path_shape, .answer = &key_refreshed_shape, .audit = "key.rotate",
      .id = "rotate_key", .summary = "Rotate a key",
      .description = "Answers a new token; the old key stays valid for five minutes after its first rotation. 409 when the key has expired or was revoked. At most ten rotations per hour for a key and its successors: then 429." },
    { 0 },
};
/* clang-format on */
