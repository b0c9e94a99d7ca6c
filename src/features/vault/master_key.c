/* master_key.c - rotates the master key, checks all keys at start, and goes on without a lost one.
 */
#include "features/vault/data_keys.h"

#include <sodium.h>

#include "base/arena.h"
#include "base/lock.h"
#include "base/log.h"
#include "db/db.h"

/* Wraps every data key with the first master key and counts them. Locks the platform's row. */
static int wrap_all(struct vault *v, struct db *db, size_t *ret_n, struct error *err)
{
    struct data_key_row platform, *rows;
    struct list keys = { 0 };
    uint8_t key[ENVELOPE_KEY];
    ARENA_SCOPED(arena);
    int r;

    r = data_key_lock(db, &arena, &platform, err);
    if (r == 0)
        r = data_keys_all(db, &arena, &keys, err);
    rows = keys.items;
    for (size_t i = 0; r == 0 && i < keys.n; i++) {
        r = vault_open_row(v, &rows[i], key, err);
        if (r != 0)
            break;
        rwlock_read(&v->lock);
        vault_wrap(v, 0, key, &rows[i], &arena);
        rwlock_release(&v->lock);
        r = data_key_set(db, &rows[i], err);
    }
    *ret_n = keys.n;
    sodium_memzero(key, sizeof(key));
    return r;
}

/* Adds a new first key, in the file and in memory. */
static int add_master_key(struct vault *v, struct error *err) REQUIRES(v->lock)
{
    struct keyring *ring = keyring_new();
    int r;

    keyring_retire(ring, v->ring);
    ring->n_live = v->ring->n_live;
    keyring_add(ring);
    r = keyring_write(ring, ring->n_live, v->path, err);
    if (r == 0) {
        keyring_free(v->ring);
        v->ring = ring;
    } else {
        keyring_free(ring);
    }
    return r;
}

/* On return of 0 the new key is in the file. One that an earlier attempt added is used again. */
static int begin_rotation(struct vault *v, const void *owner, struct error *err)
{
    int r = 0;

    rwlock_write(&v->lock);
    if (v->path == NULL)
        r = err_set(err, ERR_CONFLICT,
                    "the master key is set by " MASTER_KEY_VARIABLE
                    ": write it to a file with mode "
                    "0600, set master_key_file to it, start muster without the variable, and "
                    "rotate then");
    else if (v->rotation != NULL && v->rotation != owner)
        r = err_set(err, ERR_CONFLICT, "the master key is being rotated already");
    else
        r = vault_reload(v, err);
    if (r == 0 && v->ring->n_live == 1)
        r = add_master_key(v, err);
    if (r == 0)
        v->rotation = owner;
    rwlock_release(&v->lock);
    return r;
}

int vault_rotate(struct vault *v, struct db *db, const void *owner, size_t *ret_n,
                 struct error *err)
{
    if (begin_rotation(v, owner, err) != 0)
        return -1;
    return wrap_all(v, db, ret_n, err);
}

int vault_end_rotation(struct vault *v, const void *owner, bool committed, struct error *err)
{
    int r = 0;

    rwlock_write(&v->lock);
    if (v->rotation == owner) {
        v->rotation = NULL;
        r = committed ? keyring_write(v->ring, 1, v->path, err) : 0;
        if (committed && r == 0)
            v->ring->n_live = 1;
    }
    rwlock_release(&v->lock);
    return r;
}

static void add_loss(struct buf *out, int64_t n, const char *what)
{
    if (n > 0)
        buf_printf(out, "%s%lld %s%s", out->len > 0 ? ", " : "", (long long)n, what,
                   n == 1 ? "" : "s");
}

const char *vault_losses_text(const struct vault_losses *lost, struct arena *arena)
{
    BUF_SCOPED(out, KIB(1));

    add_loss(&out, lost->secrets, "secret");
    add_loss(&out, lost->webhook_secrets, "webhook secret");
    add_loss(&out, lost->second_factors, "second factor");
    buf_add_c(&out, out.len > 0 ? " and the audit log's signing" : "the audit log's signing");
    return arena_cstr(arena, buf_str(&out));
}

/* Does the master key that is here open all data keys? A file that is there but cannot be read is
 * an error: its key is not lost. */
static int opens_all(struct vault *v, struct db *db, bool *ret, struct error *err)
{
    uint8_t key[ENVELOPE_KEY];
    ARENA_SCOPED(arena);
    struct list keys;
    int r;

    if (data_keys_all(db, &arena, &keys, err) != 0)
        return -1;
    rwlock_write(&v->lock);
    r = vault_reload(v, err);
    rwlock_release(&v->lock);
    for (size_t i = 0; r == 0 && i < keys.n; i++)
        r = vault_open_row(v, &((const struct data_key_row *)keys.items)[i], key, err);
    sodium_memzero(key, sizeof(key));
    *ret = r == 0 || keys.n == 0;
    return r == 0 || err->code == ERR_NOT_FOUND || err->code == ERR_SCHEMA ? 0 : -1;
}

int vault_may_reset(struct vault *v, struct db *db, bool confirmed, struct vault_losses *ret,
                    struct error *err)
{
    bool used, open;
    ARENA_SCOPED(arena);

    if (vault_used_by_others(db, &used, err) != 0 || opens_all(v, db, &open, err) != 0)
        return -1;
    if (used)
        return err_set(err, ERR_BUSY, "another muster is using this database: stop all nodes");
    if (open)
        return err_set(err, ERR_CONFLICT,
                       "nothing is lost: the master key opens all that is sealed in this database");
    if (sealed_count(db, ret, err) != 0)
        return -1;
    if (confirmed)
        return 0;
    return err_set(err, ERR_CONFLICT,
                   "nothing was changed: no master key at '%s' opens the data; --confirm drops %s",
                   v->path == NULL ? MASTER_KEY_VARIABLE : v->path, vault_losses_text(ret, &arena));
}

int vault_reset(struct db *db, const struct vault_losses *lost, vault_reset_fn *told,
                struct error *err)
{
    if (sealed_drop(db, err) != 0)
        return -1;
    return told == NULL ? 0 : told(db, lost, err);
}

/* `why` ends in "are lost"; `way` is one to find the key again. An error has 255 bytes. */
static int refuse_start(struct db *db, const char *why, const char *way, struct error *err)
{
    struct vault_losses lost;
    ARENA_SCOPED(arena);

    if (sealed_count(db, &lost, err) != 0)
        return -1;
    return err_set(err, ERR_NOT_FOUND, "%s %s: %s, or go on with `muster vault reset --confirm`",
                   why, vault_losses_text(&lost, &arena), way);
}

/* Is there nothing that a new master key would leave behind, nor another node that has the old one?
 */
static int may_renew(struct db *db, bool *ret, struct error *err)
{
    struct vault_losses lost;
    bool used;

    if (sealed_count(db, &lost, err) != 0 || vault_used_by_others(db, &used, err) != 0)
        return -1;
    *ret = lost.secrets + lost.webhook_secrets + lost.second_factors == 0 && !used &&
           !db_is_distributed(db);
    return 0;
}

/* Reads the key file, or makes one if there is none and it is not missed. Data keys that the lost
 * one wrapped are dropped; the new one then waits beside the file for the commit, without which it
 * would open nothing. */
static int load_key_file(struct vault *v, struct db *db, vault_reset_fn *told, bool *ret_waits,
                         struct error *err) REQUIRES(v->lock)
{
    static const struct vault_losses none;
    struct error first = { 0 };
    struct data_key_row platform;
    ARENA_SCOPED(arena);
    bool may;

    if (v->path == NULL || vault_reload(v, &first) == 0)
        return 0;
    if (first.code != ERR_NOT_FOUND) {
        *err = first;
        return -1;
    }
    if (data_key_get(db, DATA_KEY_PLATFORM, 0, &arena, &platform, err) != 0 ||
        may_renew(db, &may, err) != 0)
        return -1;
    if (platform.version != 0 && !may)
        return refuse_start(
            db, arena_printf(&arena, "no master key at '%s': with it are lost", v->path).data,
            "restore it", err);
    if (platform.version != 0) {
        log_write(LOG_WARNING, "vault",
                  "the master key file is gone, and nothing is sealed with it but the audit log's "
                  "signing: that begins again, with a new key");
        if (vault_reset(db, &none, told, err) != 0)
            return -1;
    }
    keyring_add(v->ring);
    *ret_waits = platform.version != 0;
    return keyring_write(v->ring, 1,
                         *ret_waits ? arena_printf(&arena, "%s.new", v->path).data : v->path, err);
}

/* In a transaction: creates the platform's key if needed, and wraps all keys with the first master
 * key. Fails when a key cannot be opened. */
static int rewrap_all(struct vault *v, struct db *db, struct error *err)
{
    struct list keys = { 0 };
    uint8_t key[ENVELOPE_KEY];
    ARENA_SCOPED(arena);
    size_t n;
    int r;

    r = vault_ensure_key(v, db, DATA_KEY_PLATFORM, err);
    if (r == 0)
        r = data_keys_all(db, &arena, &keys, err);
    for (size_t i = 0; r == 0 && i < keys.n; i++)
        if (vault_open_row(v, &((const struct data_key_row *)keys.items)[i], key, err) != 0)
            r = err->code != ERR_SCHEMA
                    ? -1
                    : refuse_start(db,
                                   "the data cannot be opened with this master key; without the "
                                   "right one are lost",
                                   "restore that", err);
    rwlock_unshared(&v->lock); /* still starting */
    if (r == 0 && v->ring->n_live > 1)
        r = wrap_all(v, db, &n, err);
    sodium_memzero(key, sizeof(key));
    return r;
}

int vault_start(struct vault *v, struct db *db, vault_reset_fn *told, struct error *err)
{
    struct error unwritten = { 0 };
    bool waits = false;

    rwlock_unshared(&v->lock); /* still starting: no other thread has the vault yet */
    if (db_begin(db, err) != 0)
        return -1;
    if (load_key_file(v, db, told, &waits, err) != 0 || rewrap_all(v, db, err) != 0 ||
        db_commit(db, err) != 0) {
        db_rollback(db);
        return -1;
    }
    if (v->ring->n_live < 2)
        return waits ? keyring_write(v->ring, 1, v->path, err) : 0;
    if (keyring_write(v->ring, 1, v->path, &unwritten) != 0)
        log_write(LOG_WARNING, "vault", "the old master key could not be removed from the file: %s",
                  unwritten.text);
    else
        v->ring->n_live = 1;
    return 0;
}
