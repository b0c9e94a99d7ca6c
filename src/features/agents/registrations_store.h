/* registrations_store.h - what agents declare about themselves, as rows. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "features/agents/report_key.h"

struct agent_register;
struct db;

/* A registration in the form in which it is stored. */
struct registration_rows {
    const struct agent_register *body;
    struct str kpis;                           /* JSON array of rows */
    struct str inputs, outputs, config_schema; /* JSON; STR_NULL: none */
};

/* All of the work that needs no database, so that it can be done before the writer's turn comes.
 * Borrows the body; the rest is in the arena. */
void store_registration_prepare(const struct agent_register *body, struct arena *arena,
                                struct registration_rows *ret);

/* Replaces, whole, what the agent declared before. In PostgreSQL it holds the agent until the
 * transaction ends, so that of two registrations at the same time one comes after the other. */
int store_registration_put(struct db *db, const struct report_key *place,
                           const struct registration_rows *rows, struct error *err) MUST_CHECK;

/* What the agent declared as its configuration, as JSON in the arena; STR_NULL: nothing. */
int store_config_schema(struct db *db, int64_t tenant_id, struct str agent_name,
                        struct arena *arena, struct str *ret, struct error *err) MUST_CHECK;

/* Called for each agent. Must not use the db. False: enough. */
typedef bool config_schema_fn(void *ctx, struct str agent_name, struct str config_schema);

/* The agents of a tenant, 1,000 at most, whose declaration holds `word`. */
int store_config_schemas_with(struct db *db, int64_t tenant_id, struct str word,
                              config_schema_fn *fn, void *ctx, struct error *err) MUST_CHECK;
