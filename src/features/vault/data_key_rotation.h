/* data_key_rotation.h - replaces the tenants' data keys, a bounded step per transaction.
 *
 * Every tenant gets a new data key, which seals from then on; what older keys
 * sealed is sealed again; then the older keys are destroyed. Between two steps,
 * and after a crash at any point, everything can be opened: sealed bytes name
 * their key, and a key is destroyed only when no bytes name it any more.
 */
#pragma once
#include "base/err.h"

struct data_keys_rotated;
struct db;
struct vault;

/* One step, in a transaction: first with `after` 0, then with the answer's `next` until it is null,
 * not earlier than `wait_s` seconds later. */
int vault_rotate_data_keys(struct vault *v, struct db *db, int64_t after,
                           struct data_keys_rotated *ret, struct error *err) MUST_CHECK;
