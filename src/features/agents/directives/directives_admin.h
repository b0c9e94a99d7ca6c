/* directives_admin.h - setting what agents are told.
 *
 * All run inside a transaction or on a reader, with the caller's connection.
 * Each answers what holds at the place afterwards, wherever that was set; the
 * names of the place are the caller's to fill in. In the arena.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/agents/directives/store.h"

struct db;

int directives_show_model(struct db *db, const struct directive_key *place, struct arena *arena,
                          struct model_setting *ret, struct error *err) MUST_CHECK;

/* A NULL `set` unsets it; likewise below. */
int directives_set_model(struct db *db, const struct directive_key *place,
                         const struct model_set *set, struct arena *arena,
                         struct model_setting *ret, struct error *err) MUST_CHECK;

int directives_show_policy(struct db *db, const struct directive_key *place, struct arena *arena,
                           struct policy_setting *ret, struct error *err) MUST_CHECK;
int directives_set_policy(struct db *db, const struct directive_key *place,
                          const struct policy_set *set, struct arena *arena,
                          struct policy_setting *ret, struct error *err) MUST_CHECK;
