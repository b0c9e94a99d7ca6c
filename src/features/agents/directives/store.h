/* store.h - models and command policies as rows, by scope. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/agents/directives/shapes.h"

struct db;

/* From general to specific: the most specific one set is in effect. */
enum directive_scope { SCOPE_PLATFORM, SCOPE_WORKSPACE, SCOPE_AGENT };
extern const char *const directive_scope_names[]; /* in that order, ends in NULL */

static inline struct str directive_source(int scope)
{
    return str_of(directive_scope_names[scope]);
}

/* What a directive is set for. The agent need not be known yet. */
struct directive_key {
    int scope;             /* enum directive_scope */
    int64_t tenant_id;     /* 0: the platform */
    struct str agent_name; /* empty unless scope is SCOPE_AGENT */
};

struct model_row {
    struct directive_key target;
    struct str model; /* STR_NULL: not set */
    int64_t updated_at;
};

struct policy_row {
    struct directive_key target;
    struct policy_set policy;
    int64_t version; /* 0: not set */
    int64_t updated_at;
};

int model_put(struct db *db, const struct model_row *row, struct error *err) MUST_CHECK;

/* Does nothing when it is not set; the same for policies. */
int model_remove(struct db *db, const struct directive_key *target, struct error *err) MUST_CHECK;

/* The model in effect for this target, at whichever level it is set; in the arena. */
int model_in_effect(struct db *db, const struct directive_key *target, struct arena *arena,
                    struct model_row *ret, struct error *err) MUST_CHECK;

/* The models and the policies of one tenant (0: of the platform), or of all (DIRECTIVES_OF_ALL):
 * lists of struct model_row and struct policy_row; in the arena. */
enum { DIRECTIVES_OF_ALL = -1 };
int models_of(struct db *db, int64_t tenant_id, struct arena *arena, struct list *ret,
              struct error *err) MUST_CHECK;
int policies_of(struct db *db, int64_t tenant_id, struct arena *arena, struct list *ret,
                struct error *err) MUST_CHECK;

/* Increments the version. */
int policy_put(struct db *db, const struct directive_key *target, const struct policy_set *set,
               int64_t now_us, struct error *err) MUST_CHECK;
int policy_remove(struct db *db, const struct directive_key *target, struct error *err) MUST_CHECK;
int policy_in_effect(struct db *db, const struct directive_key *target, struct arena *arena,
                     struct policy_row *ret, struct error *err) MUST_CHECK;

struct directives_size {
    int64_t n, bytes;
};

/* Of the models, or the policies, that a workspace has set for itself and for its agents. */
int directives_measure(struct db *db, int64_t tenant_id, bool of_policies, struct arena *arena,
                       struct directives_size *ret, struct error *err) MUST_CHECK;
