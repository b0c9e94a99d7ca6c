/* feature.c - tenants, keys, users and sessions in memory, kept in step with the database. */
#include "engine/feature.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "features/access/auth.h"
#include "features/access/rate.h"
#include "features/access/registry.h"
#include "features/access/routes.h"
#include "features/access/sessions.h"
#include "features/access/stored_bytes.h"
#include "features/access/tenants.h"
#include "features/features.h"

enum { KEY_USES_PERIOD_S = 60, SESSIONS_PERIOD_S = 60, STORED_PERIOD_S = 60 };

struct access {
    struct registry *registry;
    struct rate_share *rates;
    struct sessions *sessions;
    struct token_guess_limiter *token_guesses;
    int64_t key_uses_saved_us, sessions_saved_us, stored_read_us; /* monotonic; only the tick's */
};

static const struct access *access_of(const struct engine *e)
{
    return engine_state(e, &access_feature);
}

struct registry *access_registry(const struct engine *e)
{
    return access_of(e)->registry;
}

struct rate_share *access_rates(const struct engine *e)
{
    return access_of(e)->rates;
}

struct sessions *access_sessions(const struct engine *e)
{
    return access_of(e)->sessions;
}

struct token_guess_limiter *access_token_guesses(const struct engine *e)
{
    return access_of(e)->token_guesses;
}

/* The watcher also loads the keys that are missing after the start; no change waits for that. */
static int refresh_registry(struct engine *e, struct db *db, struct error *err)
{
    struct registry *registry = access_registry(e);
    const bool had_more = registry_has_more(registry);

    if (db != engine_watch_db(e))
        return registry_refresh(registry, db, err);
    if (registry_load(registry, db, err) != 0)
        return -1;
    if (had_more && registry_is_complete(registry) && engine_serves(e))
        log_write(LOG_INFO, "registry", "all keys are loaded");
    return 0;
}

static int refresh_sessions(struct engine *e, struct db *db, struct error *err)
{
    return sessions_refresh(access_sessions(e), db, err);
}

static bool registry_wants_more(const struct engine *e)
{
    return registry_has_more(access_registry(e));
}

/* One change at a time, in all processes: a row carries the number of its change, and a process
 * that has loaded a number must have seen all changes up to it. */
static const struct engine_cache registry_cache = { .bump = registry_changed,
                                                    .refresh = refresh_registry,
                                                    .has_more = registry_wants_more };

/* One change of users at a time: two at once could remove the last two administrators. */
static const struct engine_cache users_cache = { .bump = users_changed,
                                                 .refresh = refresh_sessions };

static int access_open(struct engine *e, void **ret_state, struct error *err)
{
    struct access *access = NEW(struct access);

    *ret_state = access;
    access->registry = registry_new(engine_budgets(e));
    access->sessions = sessions_new();
    access->token_guesses = token_guess_limiter_new();
    access->key_uses_saved_us = access->sessions_saved_us = access->stored_read_us =
        clock_mono_us();
    engine_set_cache(e, CHANGE_REGISTRY, &registry_cache);
    engine_set_cache(e, CHANGE_USERS, &users_cache);
    access->rates = rate_share_new(engine_budgets(e), engine_is_shared(e));
    return rate_share_load(access->rates, engine_open_db(e), err);
}

static int access_start(struct engine *e, struct error *err)
{
    if (!engine_serves(e)) /* commands count nothing */
        return 0;
    return rate_share_start(access_rates(e), engine_writer(e), err);
}

static void save_sessions(struct engine *e)
{
    sessions_flush(access_sessions(e), engine_writer(e), engine_is_shared(e), clock_wall_us());
}

/* Has the period passed since *last_us? Then *last_us is set to now. */
static bool is_due(int64_t *last_us, int64_t now_us, unsigned period_s)
{
    if (now_us - *last_us < (int64_t)period_s * USEC_PER_SEC)
        return false;
    *last_us = now_us;
    return true;
}

static int access_tick(struct engine *e, const struct tick *tick, struct error *err)
{
    struct access *access = engine_state(e, &access_feature);

    if (is_due(&access->key_uses_saved_us, tick->mono_us, KEY_USES_PERIOD_S)) {
        key_use_flush(access->registry, engine_writer(e));
        registry_sweep(access->registry);
    }
    if (is_due(&access->sessions_saved_us, tick->mono_us, SESSIONS_PERIOD_S))
        save_sessions(e);
    if (engine_serves(e))
        rate_share_tick(access->rates, tick->mono_us);
    return stored_bytes_refresh(access->registry, engine_watch_db(e),
                                is_due(&access->stored_read_us, tick->mono_us, STORED_PERIOD_S),
                                err);
}

static void access_txn_open(struct engine *e, struct txn *txn)
{
    txn_set_part(txn, stored_bytes_part, stored_bytes_new(access_registry(e)));
}

static void access_txn_close(struct txn *txn)
{
    stored_bytes_free(stored_bytes_of(txn));
}

static int access_txn_settle(struct txn *txn, struct error *err)
{
    return stored_bytes_settle(stored_bytes_of(txn), txn->db, err);
}

static void access_txn_committed(struct txn *txn)
{
    stored_bytes_committed(stored_bytes_of(txn));
}

static void access_txn_rolled_back(struct txn *txn)
{
    stored_bytes_forget(stored_bytes_of(txn));
}

static void access_stop(struct engine *e)
{
    rate_share_stop(access_rates(e));
    key_use_flush(access_registry(e), engine_writer(e));
    save_sessions(e);
}

static void access_close(void *state)
{
    struct access *access = state;

    if (access == NULL)
        return;
    rate_share_free(access->rates);
    registry_free(access->registry);
    token_guess_limiter_free(access->token_guesses);
    sessions_free(access->sessions);
    free(access);
}

const struct feature access_feature = {
    .name = "access",
    .about = "Tenants and their plans, keys, rate limits, and who is calling.",
    .routes = { key_routes, tenant_routes },
    .commands = { access_commands },
    .open = access_open,
    .start = access_start,
    .tick = access_tick,
    .stop = access_stop,
    .close = access_close,
    .txn = { .open = access_txn_open,
             .close = access_txn_close,
             .settle = access_txn_settle,
             .committed = access_txn_committed,
             .rolled_back = access_txn_rolled_back },
};
