/* data_keys.h - the keys behind the vault; private to it.
 *
 * Thread-safe but where a lock is asked for.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/lock.h"
#include "features/vault/data_keys_store.h"
#include "features/vault/envelope.h"
#include "features/vault/keyring.h"

struct db;

struct vault {
    char *path;         /* NULL: the key is that of the environment */
    struct rwlock lock; /* not held while the database is queried */
    struct keyring *ring GUARDED_BY(lock) PT_GUARDED_BY(lock); /* empty: not read yet */
    const void *rotation GUARDED_BY(lock); /* who rotates the master key; NULL: no rotation */
};

/* A data key ready for use: wipe it. */
struct vault_key {
    uint8_t bytes[ENVELOPE_KEY];
    int64_t version;
};

/* Reads the file again; keys that are gone from it are kept behind the others. */
int vault_reload(struct vault *v, struct error *err) MUST_CHECK REQUIRES(v->lock);

/* Wraps the data key into the row, with the master key at this index of the ring; in the arena. */
void vault_wrap(const struct vault *v, size_t place, const uint8_t key[ENVELOPE_KEY],
                struct data_key_row *row, struct arena *arena) REQUIRES_SHARED(v->lock);

/* Opens the row; reads the key file (again) when the keys at hand do not. */
int vault_open_row(struct vault *v, const struct data_key_row *row, uint8_t ret[ENVELOPE_KEY],
                   struct error *err) MUST_CHECK;

/* Makes the tenant's data key if there is none. In a transaction. */
int vault_ensure_key(struct vault *v, struct db *db, int64_t tenant_id,
                     struct error *err) MUST_CHECK;

/* The tenant's data key of this version, or the newest with 0. */
int vault_get_key(struct vault *v, struct db *db, int64_t tenant_id, int64_t version,
                  struct vault_key *ret, struct error *err) MUST_CHECK;
