/* vault.h - encryption of secrets at rest.
 *
 * A master key, kept outside the database (features/vault/keyring.h), wraps a
 * random data key per tenant, and the data key seals. Both use
 * XChaCha20-Poly1305 with a random nonce and authenticate a label: data that
 * was changed, or moved to another tenant, name, version or kind, does not
 * open.
 *
 * Thread-safe, each call with the caller's connection.
 */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "db/db.h"

struct data_keys_rotated;
struct arena;
struct engine;
struct settings;
struct vault;

/* Identifies the sealed text; authenticated with it. */
struct vault_label {
    const char *kind; /* "secret" */
    int64_t tenant_id;
    struct str name;
    int64_t version;
};

/* Bytes that sealing adds. */
enum { VAULT_OVERHEAD = 1 + 4 + 24 + 16 };

/* Uses the key from the environment if it was set, else the key file, which is read when it is
 * first needed. The caller owns the vault. */
struct vault *vault_new(const char *key_file);

/* Wipes the keys. NULL is fine. */
void vault_free(struct vault *v);

/* The vault with the key that the settings name. The caller owns it. */
struct vault *vault_for(const struct settings *settings);

/* What is sealed in a database, and so lost with its master key. */
struct vault_losses {
    int64_t secrets, webhook_secrets, second_factors;
};

/* "2 secrets and the audit log's signing", in the arena. */
const char *vault_losses_text(const struct vault_losses *lost, struct arena *arena);

/* Told in the transaction in which all that was sealed is dropped, data keys too. */
typedef int vault_reset_fn(struct db *db, const struct vault_losses *lost, struct error *err);

/* Before a server starts to serve: creates the key file if there is none and nothing is sealed,
 * finishes an interrupted rotation, and fails when any data key cannot be opened. `db` is a
 * writer's. `told` may be NULL. */
int vault_start(struct vault *v, struct db *db, vault_reset_fn *told, struct error *err) MUST_CHECK;

/* Within a transaction of a writer, while no server runs: what would be lost. ERR_CONFLICT when the
 * master key opens everything, and unless `confirmed`, with a sentence that says what would be
 * lost; ERR_BUSY when another process uses the database; ERR_UNAVAILABLE when the key file is there
 * but cannot be used. */
int vault_may_reset(struct vault *v, struct db *db, bool confirmed, struct vault_losses *ret,
                    struct error *err) MUST_CHECK;

/* Then: drops it. The next start makes new data keys, with the key file that it finds or makes. */
int vault_reset(struct db *db, const struct vault_losses *lost, vault_reset_fn *told,
                struct error *err) MUST_CHECK;

/* Appends the sealed bytes to `out`. Within a transaction: it may create the tenant's data key. */
int vault_seal(struct vault *v, struct db *db, const struct vault_label *label, struct str plain,
               struct buf *out, struct error *err) MUST_CHECK;

/* Appends the text to `out`, which the caller releases with vault_wipe(). ERR_SCHEMA when the bytes
 * were not sealed under this label. */
int vault_open(struct vault *v, struct db *db, const struct vault_label *label, struct str sealed,
               struct buf *out, struct error *err) MUST_CHECK;

enum { VAULT_KEY_BYTES = 32 };

/* An unwrapped data key. The caller wipes it. */
struct vault_key {
    uint8_t bytes[VAULT_KEY_BYTES];
    int64_t version;
};

/* Opens several texts in one transaction. Keeps the data key of the last one, which most of the
 * others were sealed with: reading it for each is a turn to the database. */
struct vault_opener {
    struct vault *vault;
    struct db *db;
    int64_t tenant_id;    /* of the key */
    struct vault_key key; /* version 0: none yet */
};

int vault_open_next(struct vault_opener *o, const struct vault_label *label, struct str sealed,
                    struct buf *out, struct error *err) MUST_CHECK;

/* Wipes the key. */
void vault_opener_done(struct vault_opener *o);

/* Overwrites and frees the buffer's content. */
void vault_wipe(struct buf *text);

/* A digest that only this installation can compute; the same after a rotation. */
int vault_digest(struct vault *v, struct db *db, struct str text, struct sha256 *ret,
                 struct error *err) MUST_CHECK;

/* Replaces the master key in three steps: adds the new key to the file and, in the transaction of
 * `db`, wraps all data keys with it; the caller commits; vault_end_rotation() removes the old key
 * from the file. After a crash at any point everything can be opened. `owner` identifies the
 * rotation, since its transaction may be retried. ERR_CONFLICT while another rotation runs, and
 * when the key is not in a file. */
int vault_rotate(struct vault *v, struct db *db, const void *owner, size_t *ret_n,
                 struct error *err) MUST_CHECK;
int vault_end_rotation(struct vault *v, const void *owner, bool committed,
                       struct error *err) MUST_CHECK;

/* Replaces the tenants' data keys, one step in a transaction: first with `after` 0, then with the
 * answer's `next` until it is null, not earlier than `wait_s` seconds later. Every tenant gets a
 * new data key, which seals from then on; what older keys sealed is sealed again; then the older
 * keys are destroyed. Between two steps, and after a crash at any point, everything can be opened:
 * sealed bytes name their key, and a key is destroyed only when no bytes name it any more. */
int vault_rotate_data_keys(struct vault *v, struct db *db, int64_t after,
                           struct data_keys_rotated *ret, struct error *err) MUST_CHECK;

/* A column of sealed bytes, which a rotation of data keys seals again. A feature that keeps sealed
 * bytes registers each such column when it opens, or they are lost with the data key. */
enum { SEALED_TABLES_MAX = 8 };

struct sealed_table {
    const char *kind; /* of their struct vault_label */

    /* Of the tenant $1, at most $3 of the rows whose bytes 2 to 5 are not $2: the columns `name`
     * and `version` of their label, and `sealed`. */
    struct db_query stale;

    /* Of the tenant $1, the row with the name $2: $3 in place of $4, if that is still there. */
    struct db_query replace;
};

void vault_add_sealed_table(struct vault *v, const struct sealed_table *table);

/* The row of `stale`. */
extern const struct shape sealed_row;

/* The engine's vault. Any thread. */
struct vault *vault_of(const struct engine *e);
