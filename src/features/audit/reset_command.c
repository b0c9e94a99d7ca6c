/* reset_command.c - goes on without a lost master key, while no server runs. */
#include "features/audit/routes.h"

#include <stdio.h>

#include "cli/datadir.h"
#include "db/db.h"
#include "db/migrate.h"
#include "features/audit/audit.h"
#include "features/vault/vault.h"

static int reset(struct invocation *in, struct db *db, struct vault_losses *lost, struct error *err)
{
    struct vault *vault = vault_for(&in->settings);
    int r = -1;

    if (store_schema_check(db, err) != 0 || store_migrate(db, err) != 0 || db_begin(db, err) != 0)
        goto out;
    if (vault_may_reset(vault, db, command_value(in, "confirm") != NULL, lost, err) == 0 &&
        vault_reset(db, lost, audit_note_reset, err) == 0)
        r = db_commit(db, err);
    if (r != 0)
        db_rollback(db);
out:
    vault_free(vault);
    return r;
}

static int open_database(struct invocation *in, struct datadir *d, struct db **ret,
                         struct error *err)
{
    if (in->settings.database[0] != '\0')
        return db_open(in->settings.database, DB_WRITER, ret, err);
    if (datadir_ensure(d, false, err) != 0 || datadir_check_database(d, err) != 0 ||
        datadir_lock(d, err) != 0)
        return -1;
    return db_open(d->database, DB_WRITER, ret, err);
}

static int vault_reset_run(struct invocation *in)
{
    struct vault_losses lost;
    struct error err = { 0 };
    struct db *db = NULL;
    struct datadir d;
    int r;

    datadir_init(&d, in->settings.data, &in->arena);
    r = open_database(in, &d, &db, &err);
    if (r == 0)
        r = reset(in, db, &lost, &err);
    db_close(db);
    datadir_done(&d);
    if (r != 0)
        return command_fail(&err);
    if (in->json)
        (void)printf("{\"secrets\":%lld,\"webhook_secrets\":%lld,\"second_factors\":%lld}\n",
                     (long long)lost.secrets, (long long)lost.webhook_secrets,
                     (long long)lost.second_factors);
    else
        (void)printf(
            "dropped: %s; set secrets again, rotate webhooks, enable standard ones; people sign in "
            "with their passwords alone until they add a second factor; the next start "
            "uses the master key that it finds, or makes one\n",
            vault_losses_text(&lost, &in->arena));
    return EXIT_DONE;
}

/* clang-format off */
const struct command reset_commands[] = {
    { "vault", "reset", .local_only = true,
      .options = OPTIONS({ "confirm", OPTION_FLAG, .help = "drop it; without this, say what would be dropped" }),
      .help = "go on without a lost master key: drops secrets, webhooks' secrets and second factors",
      .examples = "muster vault reset --confirm",
      .run = vault_reset_run },
    { 0 },
};
/* clang-format on */
