/* vault.h - seals secrets, so that the database alone does not reveal them.
 *
 * A master key, kept outside the database (features/vault/keyring.h), wraps a random
 * data key for each tenant; the data key seals. Both with XChaCha20-Poly1305,
 * a random nonce, and a label that is bound in: what was moved to another
 * tenant, name, version or kind does not open, nor does what was changed.
 *
 * Thread-safe, each call with the caller's connection.
 */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"

struct db;
struct engine;
struct vault;

/* What is sealed: part of it as much as its text. */
struct vault_label {
    const char *kind; /* "secret" */
    int64_t tenant_id;
    struct str name;
    int64_t version;
};

/* Bytes that sealing adds. */
enum { VAULT_OVERHEAD = 1 + 4 + 24 + 16 };

/* The key of the environment if there was one, else that of the file, which is read when it is
 * first needed. The caller owns the vault. */
struct vault *vault_new(const char *key_file);

/* Wipes the keys. NULL is fine. */
void vault_free(struct vault *v);

/* For a server, before it serves: makes the key file if there is none and nothing was sealed yet,
 * finishes a rotation that was cut short, and fails when any data key cannot be opened. `db` is a
 * writer's. */
int vault_start(struct vault *v, struct db *db, struct error *err) MUST_CHECK;

/* Appends the sealed bytes to `out`. Within a transaction: it may have to make the tenant's data
 * key. */
int vault_seal(struct vault *v, struct db *db, const struct vault_label *label, struct str plain,
               struct buf *out, struct error *err) MUST_CHECK;

/* Appends the text to `out`, which vault_wipe() ends. ERR_SCHEMA when the bytes are not what was
 * sealed under this label. */
int vault_open(struct vault *v, struct db *db, const struct vault_label *label, struct str sealed,
               struct buf *out, struct error *err) MUST_CHECK;

/* Overwrites and frees what the buffer holds. */
void vault_wipe(struct buf *text);

/* A digest that only this installation can compute; the same after a rotation. */
int vault_digest(struct vault *v, struct db *db, struct str text, struct sha256 *ret,
                 struct error *err) MUST_CHECK;

/* A new master key, in three steps: the file gets it beside the old one and, in the transaction of
 * `db`, all data keys are wrapped with it; that is committed; vault_end_rotation() takes the old
 * one out of the file. After a crash anywhere everything can be opened. `owner` tells one rotation
 * from another, since a transaction may be tried again; ERR_CONFLICT while there is another, and
 * when the key is not in a file. */
int vault_rotate(struct vault *v, struct db *db, const void *owner, size_t *ret_n,
                 struct error *err) MUST_CHECK;
int vault_end_rotation(struct vault *v, const void *owner, bool committed,
                       struct error *err) MUST_CHECK;

/* The engine's. Any thread. */
struct vault *vault_of(const struct engine *e);
