/* data_keys.h - the vault's data keys; private to it.
 *
 * Thread-safe, except functions that require the lock.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/lock.h"
#include "features/vault/data_keys_store.h"
#include "features/vault/keyring.h"
#include "features/vault/sealed_table.h"
#include "features/vault/vault.h"

struct db;
struct signer;

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

/* The tenant's newest data key, to seal with: it is not destroyed before the transaction ends. */
int vault_use_key(struct vault *v, struct db *db, int64_t tenant_id, struct vault_key *ret,
                  struct error *err) MUST_CHECK;

/* The tenant's data key of this version, or the newest with 0. */
int vault_get_key(struct vault *v, struct db *db, int64_t tenant_id, int64_t version,
                  struct vault_key *ret, struct error *err) MUST_CHECK;
