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
