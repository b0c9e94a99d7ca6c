/* feature.c - what the service starts, serves and stops for this feature. */
#include "engine/feature.h"

#include "base/log.h"
#include "db/db.h"
#include "engine/engine.h"
#include "features/audit/audit.h"
#include "features/audit/routes.h"
#include "features/features.h"
#include "features/vault/signer.h"
#include "features/vault/vault.h"

/* Starts the vault, which may begin again without its lost key: that is in the log. Then signs what
 * was written before: by an older version, or by commands without the key. */
static int audit_open(struct engine *e, void **ret_state, struct error *err)
{
    struct db *db = engine_open_db(e);
    const struct signer *signer;
    size_t n;

    *ret_state = NULL;
    if (!engine_serves(e))
        return 0;
    if (vault_start(vault_of(e), db, audit_note_reset, err) != 0 ||
        vault_signer(vault_of(e), db, &signer, err) != 0 || db_begin(db, err) != 0)
        return -1;
    if ((signer != NULL && audit_sign_old(signer, db, &n, err) != 0) || db_commit(db, err) != 0) {
        db_rollback(db);
        return -1;
    }
    if (signer != NULL && n > 0)
        log_write(LOG_WARNING, "audit", "signed %zu audit logs that had no signature", n);
    return 0;
}

const struct feature audit_feature = {
    .name = "audit",
    .about = "The log of administrative changes, and proof that it is complete.",
    .routes = { audit_routes },
    .commands = { audit_commands, reset_commands },
    .open = audit_open,
};
