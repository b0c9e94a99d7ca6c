/* directives_admin.h - setting agents' models and command policies.
 *
 * All run inside a transaction or on a reader, with the caller's connection.
 * Each returns the setting then in effect for the target, at whichever level
 * it is set; the caller fills in the names. In the arena.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/agents/directives/store.h"

int directives_show_model(struct db *db, const struct directive_key *target, struct arena *arena,
                          struct model_setting *ret, struct error *err) MUST_CHECK;

/* A NULL `set` unsets it; the same for policies. */
int directives_set_model(struct db *db, const struct directive_key *target,
                         const struct model_set *set, struct arena *arena,
                         struct model_setting *ret, struct error *err) MUST_CHECK;

int directives_show_policy(struct db *db, const struct directive_key *target, struct arena *arena,
                           struct policy_setting *ret, struct error *err) MUST_CHECK;
int directives_set_policy(struct db *db, const struct directive_key *target,
                          const struct policy_set *set, struct arena *arena,
                          struct policy_setting *ret, struct error *err) MUST_CHECK;
