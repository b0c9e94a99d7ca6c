/* data_keys_store.h - the tenants' data keys as rows, wrapped by the master key.
 * Tenant DATA_KEY_PLATFORM has the platform's own key. Its row also serializes
 * changes of the master key: every transaction that wraps a key locks it.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "shape/shape.h"

struct db;

enum { DATA_KEY_PLATFORM = 0 };

struct data_key_row {
    int64_t tenant_id;
    int64_t version; /* 0: no such key */
    struct str wrapped;
};

/* The version, or the newest with 0; in the arena. */
int store_data_key(struct db *db, int64_t tenant_id, int64_t version, struct arena *arena,
                   struct data_key_row *ret, struct error *err) MUST_CHECK;

/* The newest, kept from being destroyed until the transaction ends; in the arena. */
int store_data_key_use(struct db *db, int64_t tenant_id, struct arena *arena,
                       struct data_key_row *ret, struct error *err) MUST_CHECK;

/* The platform's key, locked until the transaction ends. */
int store_data_key_lock(struct db *db, struct arena *arena, struct data_key_row *ret,
                        struct error *err) MUST_CHECK;

/* All data keys: a list of struct data_key_row; in the arena. */
int store_data_keys(struct db *db, struct arena *arena, struct list *ret,
                    struct error *err) MUST_CHECK;

/* Does nothing when another process has just added it. */
int store_data_key_add(struct db *db, const struct data_key_row *row, int64_t now_us,
                       struct error *err) MUST_CHECK;

/* Replaces the wrapped key. */
int store_data_key_set(struct db *db, const struct data_key_row *row, struct error *err) MUST_CHECK;

/* The next three list tenants, each with its newest version: struct data_key_row without `wrapped`,
 * in the arena. First: those that follow `after`, without the platform. */
int store_data_keys_after(struct db *db, int64_t after, int64_t limit, struct arena *arena,
                          struct list *ret, struct error *err) MUST_CHECK;

/* Those with an older key that is not retired. */
int store_data_keys_superseded(struct db *db, int64_t limit, struct arena *arena, struct list *ret,
                               struct error *err) MUST_CHECK;

/* Keys that were retired at `until_us` or before, or at any time after `now_us`. */
struct data_keys_span {
    int64_t until_us, now_us;
    int64_t limit; /* tenants */
};

/* Those with such a key. */
int store_data_keys_retired(struct db *db, const struct data_keys_span *span, struct arena *arena,
                            struct list *ret, struct error *err) MUST_CHECK;

/* Is any key retired? */
int store_data_keys_any_retired(struct db *db, bool *ret, struct error *err) MUST_CHECK;

/* Marks all but the newest as retired at this time, or as in use (TIME_NULL). */
int store_data_key_retire(struct db *db, const struct data_key_row *newest, int64_t at_us,
                          struct error *err) MUST_CHECK;

/* Waits for transactions that use an older key than the newest, and keeps others from it. */
int store_data_key_lock_older(struct db *db, const struct data_key_row *newest,
                              struct error *err) MUST_CHECK;

/* Destroys all but the newest. */
int store_data_key_destroy(struct db *db, const struct data_key_row *newest, int64_t *ret_n,
                           struct error *err) MUST_CHECK;
