/* reset.c - goes on without a master key that is lost. */
#include "features/vault/vault.h"

#include <sodium.h>

#include "base/arena.h"
#include "base/lock.h"
#include "db/db.h"
#include "features/vault/data_keys.h"
#include "features/vault/reset_store.h"

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

    if (store_data_keys(db, &arena, &keys, err) != 0)
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

    if (store_used_by_others(db, &used, err) != 0 || opens_all(v, db, &open, err) != 0)
        return -1;
    if (used)
        return err_set(err, ERR_BUSY, "another muster is using this database: stop all nodes");
    if (open)
        return err_set(err, ERR_CONFLICT,
                       "nothing is lost: the master key opens all that is sealed in this database");
    if (store_sealed_count(db, ret, err) != 0)
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
    if (store_sealed_drop(db, err) != 0)
        return -1;
    return told == NULL ? 0 : told(db, lost, err);
}
