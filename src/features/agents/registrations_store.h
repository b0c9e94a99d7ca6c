/* registrations_store.h - what agents declare about themselves, as rows. */
#pragma once
#include "base/arena.h"
#include "db/db.h"
#include "features/agents/admit.h"

struct agent_register;

/* A registration in the form in which it is stored. */
struct registration_rows {
    const struct agent_register *body;
    struct str kpis;                           /* JSON array of rows */
    struct str inputs, outputs, config_schema; /* JSON; STR_NULL: none */
};

/* Does all the work that needs no database, outside the writer's transaction. Borrows the body; the
 * rest is in the arena. */
void registration_rows_prepare(const struct agent_register *body, struct arena *arena,
                               struct registration_rows *ret);

/* Replaces everything that the agent declared before. PostgreSQL locks the agent's row until the
 * transaction ends, so that concurrent registrations are applied one after the other. */
int registration_rows_put(struct db *db, const struct report_key *key,
                          const struct registration_rows *rows, struct error *err) MUST_CHECK;

/* The agent's configuration schema, as JSON in the arena; STR_NULL: not declared. */
int config_schema_of(struct db *db, int64_t tenant_id, struct str agent_name, struct arena *arena,
                     struct str *ret, struct error *err) MUST_CHECK;

/* Calls on_row with the name and the configuration schema of at most 1,000 agents of a tenant whose
 * schema contains `word`. */
int config_schemas_with(struct db *db, int64_t tenant_id, struct str word, db_row_fn *on_row,
                        void *ctx, struct error *err) MUST_CHECK;
