/* store.h - models and command policies as rows, by scope. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/agents/shapes.h"

struct db;

/* From general to specific: the most specific one set is in effect. */
enum directive_scope { SCOPE_PLATFORM, SCOPE_WORKSPACE, SCOPE_AGENT };
extern const char *const directive_scope_names[]; /* in that order, ends in NULL */

static inline struct str directive_source(int scope)
{
    return str_of(directive_scope_names[scope]);
}

enum directive_kind { DIRECTIVE_MODEL, DIRECTIVE_POLICY, DIRECTIVE_KINDS };

/* What a directive is set for. The agent need not be known yet. */
struct directive_key {
    int scope;             /* enum directive_scope */
    int64_t tenant_id;     /* 0: the platform */
    struct str agent_name; /* empty unless scope is SCOPE_AGENT */
};

struct directive_row {
    struct directive_key target;
    struct str model;         /* of a model; STR_NULL: not set */
    struct policy_set policy; /* of a policy */
    int64_t version;          /* counts the times a policy was set; 0: not set */
    int64_t updated_at;
};

/* Counts the version; the row's own is ignored. */
int directive_put(struct db *db, enum directive_kind kind, const struct directive_row *row,
                  struct error *err) MUST_CHECK;

/* Does nothing when it is not set. */
int directive_remove(struct db *db, enum directive_kind kind, const struct directive_key *target,
                     struct error *err) MUST_CHECK;

/* What is in effect for this target, at whichever level it is set; without any policy, deny_all.
 * In the arena. */
int directive_in_effect(struct db *db, enum directive_kind kind, const struct directive_key *target,
                        struct arena *arena, struct directive_row *ret,
                        struct error *err) MUST_CHECK;

/* Those of one tenant (0: of the platform), or of all (DIRECTIVES_OF_ALL): a list of struct
 * directive_row; in the arena. */
enum { DIRECTIVES_OF_ALL = -1 };
int directives_of(struct db *db, enum directive_kind kind, int64_t tenant_id, struct arena *arena,
                  struct list *ret, struct error *err) MUST_CHECK;

struct directives_size {
    int64_t n, bytes;
};

/* What a workspace has set for itself and for its agents. */
int directives_measure(struct db *db, enum directive_kind kind, int64_t tenant_id,
                       struct arena *arena, struct directives_size *ret,
                       struct error *err) MUST_CHECK;
