/* registrations_store.h - what agents declare about themselves, as rows. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/agents/admit.h"

struct agent_register;
struct db;
struct kpi_row;

/* A registration in the form in which it is stored. */
struct registration_rows {
    const struct agent_register *body;
    struct str kpis;                           /* JSON array of rows, for PostgreSQL */
    struct kpi_row *kpi_rows;                  /* the same for SQLite, by key; n as in the body */
    struct str inputs, outputs, config_schema; /* JSON; STR_NULL: none */
    struct arena *arena;
};

/* Does all the work that needs no database, outside the writer's transaction. Borrows the body; the
 * rest is in the arena. */
void store_registration_prepare(const struct agent_register *body, struct arena *arena,
                                struct registration_rows *ret);

/* Replaces everything that the agent declared before. PostgreSQL locks the agent's row until the
 * transaction ends, so that concurrent registrations are applied one after the other. */
int store_registration_put(struct db *db, const struct report_key *key,
                           const struct registration_rows *rows, struct error *err) MUST_CHECK;

/* The agent's configuration schema, as JSON in the arena; STR_NULL: not declared. */
int store_config_schema(struct db *db, int64_t tenant_id, struct str agent_name,
                        struct arena *arena, struct str *ret, struct error *err) MUST_CHECK;

/* Called for each agent. Must not use the db. Return false to stop. */
typedef bool config_schema_fn(void *ctx, struct str agent_name, struct str config_schema);

/* At most 1,000 agents of a tenant whose configuration schema contains `word`. */
int store_config_schemas_with(struct db *db, int64_t tenant_id, struct str word,
                              config_schema_fn *fn, void *ctx, struct error *err) MUST_CHECK;
