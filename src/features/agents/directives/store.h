/* store.h - what agents are told, as rows: models and command policies by scope. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "features/agents/directives/shapes.h"

struct db;

/* The more special, the higher: of several the highest counts. */
enum directive_scope { SCOPE_PLATFORM, SCOPE_WORKSPACE, SCOPE_AGENT };

/* Whom something is set for. The agent need not be known yet. */
struct directive_key {
    enum directive_scope scope;
    int64_t tenant_id;     /* 0: the platform */
    struct str agent_name; /* empty unless it is an agent's */
};

struct model_row {
    struct directive_key place;
    struct str model; /* STR_NULL: none is set */
    int64_t updated_at;
};

struct policy_row {
    struct directive_key place;
    struct policy_set policy;
    int64_t version; /* 0: none is set */
    int64_t updated_at;
};

int store_model_set(struct db *db, const struct model_row *row, struct error *err) MUST_CHECK;

/* Unsetting what is not set changes nothing; likewise below. */
int store_model_unset(struct db *db, const struct directive_key *place,
                      struct error *err) MUST_CHECK;

/* The one that holds at this place, wherever it was set; in the arena; likewise below. */
int store_model_at(struct db *db, const struct directive_key *place, struct arena *arena,
                   struct model_row *ret, struct error *err) MUST_CHECK;

/* All that is set, in the arena; likewise below. */
int store_models(struct db *db, struct arena *arena, struct model_row **ret, size_t *ret_n,
                 struct error *err) MUST_CHECK;

/* The row's version is not looked at: it grows by one. */
int store_policy_set(struct db *db, const struct policy_row *row, struct error *err) MUST_CHECK;
int store_policy_unset(struct db *db, const struct directive_key *place,
                       struct error *err) MUST_CHECK;
int store_policy_at(struct db *db, const struct directive_key *place, struct arena *arena,
                    struct policy_row *ret, struct error *err) MUST_CHECK;
int store_policies(struct db *db, struct arena *arena, struct policy_row **ret, size_t *ret_n,
                   struct error *err) MUST_CHECK;
