/* data_keys.h - the vault's data keys; private to it.
 *
 * Thread-safe, except functions that require the lock; those on rows are within a transaction.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/lock.h"
#include "features/vault/keyring.h"
#include "features/vault/vault.h"
#include "shape/shape.h"

struct signer;

/* Data keys as rows, wrapped by the master key (data_keys_store.c). Tenant DATA_KEY_PLATFORM has
 * the platform's own key. Its row also serializes changes of the master key: every transaction that
 * wraps a key locks it. */
enum { DATA_KEY_PLATFORM = 0 };

/* Instead of a version: the newest, and that kept from being destroyed until the transaction ends.
 */
enum { DATA_KEY_NEWEST = 0, DATA_KEY_TO_SEAL = -1 };

struct data_key_row {
    int64_t tenant_id;
    int64_t version; /* 0: no such key */
    struct str wrapped;
};

/* The version, or one of the above; in the arena. */
int data_key_get(struct db *db, int64_t tenant_id, int64_t version, struct arena *arena,
                 struct data_key_row *ret, struct error *err) MUST_CHECK;

/* The platform's key, locked until the transaction ends. */
int data_key_lock(struct db *db, struct arena *arena, struct data_key_row *ret,
                  struct error *err) MUST_CHECK;

/* All data keys: a list of struct data_key_row; in the arena. */
int data_keys_all(struct db *db, struct arena *arena, struct list *ret,
                  struct error *err) MUST_CHECK;

/* Does nothing when another process has just added it. */
int data_key_add(struct db *db, const struct data_key_row *row, int64_t now_us,
                 struct error *err) MUST_CHECK;

/* Replaces the wrapped key. */
int data_key_set(struct db *db, const struct data_key_row *row, struct error *err) MUST_CHECK;

/* The next three list tenants, each with its newest version: struct data_key_row without `wrapped`,
 * in the arena. First: those that follow `after`, without the platform. */
int data_keys_after(struct db *db, int64_t after, int64_t limit, struct arena *arena,
                    struct list *ret, struct error *err) MUST_CHECK;

/* Those with an older key that is not retired. */
int data_keys_superseded(struct db *db, int64_t limit, struct arena *arena, struct list *ret,
                         struct error *err) MUST_CHECK;

/* Keys that were retired at `until_us` or before, or at any time after `now_us`. */
struct data_keys_span {
    int64_t until_us, now_us;
    int64_t limit; /* tenants */
};

/* Those with such a key. */
int data_keys_retired(struct db *db, const struct data_keys_span *span, struct arena *arena,
                      struct list *ret, struct error *err) MUST_CHECK;

/* Is any key retired? */
int data_keys_any_retired(struct db *db, bool *ret, struct error *err) MUST_CHECK;

/* Marks all but the newest as retired at this time, or as in use (TIME_NULL). */
int data_key_retire(struct db *db, const struct data_key_row *newest, int64_t at_us,
                    struct error *err) MUST_CHECK;

/* Waits for transactions that use an older key than the newest, and keeps others from it. */
int data_key_lock_older(struct db *db, const struct data_key_row *newest,
                        struct error *err) MUST_CHECK;

/* Destroys all but the newest. */
int data_key_destroy(struct db *db, const struct data_key_row *newest, int64_t *ret_n,
                     struct error *err) MUST_CHECK;

int sealed_count(struct db *db, struct vault_losses *ret, struct error *err) MUST_CHECK;

/* Data keys too. Webhooks stay, without a secret; those whose receiver checks the signature
 * are switched off. */
int sealed_drop(struct db *db, struct error *err) MUST_CHECK;

/* Does a process write to this database that came before this session, the first of its process?
 * SQLite: no, who asks has the data directory. */
int vault_used_by_others(struct db *db, bool *ret, struct error *err) MUST_CHECK;

/* Envelopes: XChaCha20-Poly1305 with a random nonce and a label bound in. Pure functions. */
enum {
    ENVELOPE_KEY = VAULT_KEY_BYTES,
    ENVELOPE_NONCE = 24,
    ENVELOPE_TAG = 16,
    ENVELOPE_OVERHEAD = ENVELOPE_NONCE + ENVELOPE_TAG,
};

/* The label as bytes to authenticate with the text. In `out`, which is initialised here. */
struct str envelope_label(const struct vault_label *label, int64_t key_version, struct buf *out);

/* Nonce, ciphertext and tag, ENVELOPE_OVERHEAD bytes more than `plain`. */
void envelope_seal(const uint8_t key[ENVELOPE_KEY], struct str bound, struct str plain,
                   uint8_t *ret);

/* False when the bytes were not sealed with this key and these bound bytes. */
bool envelope_open(const uint8_t key[ENVELOPE_KEY], struct str bound, struct str bytes,
                   uint8_t *ret);

/* Wipes the keys. NULL is fine. */
void signer_free(struct signer *s);

struct vault {
    char *path;         /* of the key file; NULL: the key is from the environment */
    struct rwlock lock; /* not held while the database is queried */
    struct keyring *ring GUARDED_BY(lock) PT_GUARDED_BY(lock); /* empty: not read yet */
    const void *rotation GUARDED_BY(lock);  /* owner of the running rotation; NULL: no rotation */
    struct signer *signer GUARDED_BY(lock); /* made when first needed; then it stays as it is */
    const struct sealed_table *sealed[SEALED_TABLES_MAX]; /* set while the features are opened */
    size_t n_sealed;
};

/* The version of the data key as sealed bytes hold it, after their first byte. */
enum { VAULT_VERSION_BYTES = 4 };
void vault_write_version(int64_t version, uint8_t ret[VAULT_VERSION_BYTES]);

/* Reads the key file again; keys no longer in it are kept after the others. */
int vault_reload(struct vault *v, struct error *err) MUST_CHECK REQUIRES(v->lock);

/* Wraps the data key into the row, with the master key at this index of the ring; in the arena. */
void vault_wrap(const struct vault *v, size_t index, const uint8_t key[ENVELOPE_KEY],
                struct data_key_row *row, struct arena *arena) REQUIRES_SHARED(v->lock);

/* Unwraps the row's data key; reads the key file (again) when no loaded master key opens it. */
int vault_open_row(struct vault *v, const struct data_key_row *row, uint8_t ret[ENVELOPE_KEY],
                   struct error *err) MUST_CHECK;

/* Creates the tenant's data key if it has none. In a transaction. */
int vault_ensure_key(struct vault *v, struct db *db, int64_t tenant_id,
                     struct error *err) MUST_CHECK;

/* Adds a data key of the next version, which is used from then on. In a transaction. */
int vault_add_key(struct vault *v, struct db *db, const struct data_key_row *newest,
                  struct error *err) MUST_CHECK;

/* The tenant's data key of this version, or DATA_KEY_NEWEST or DATA_KEY_TO_SEAL. */
int vault_get_key(struct vault *v, struct db *db, int64_t tenant_id, int64_t version,
                  struct vault_key *ret, struct error *err) MUST_CHECK;
