/* params.h - the parameters that an agent has declared, and which values fit them. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "features/agents/shapes.h"

struct db;

/* The agent's declaration, in the arena; without parameters when it has made none. */
int params_of_agent(struct db *db, int64_t tenant_id, struct str agent_name, struct arena *arena,
                    struct config_schema_decl *ret, struct error *err) MUST_CHECK;

/* NULL when it is not declared. */
const struct config_param_decl *params_find(const struct config_schema_decl *decl, struct str key);

/* Is the text, without references in it, a value of the parameter: of its type, and one of its
 * choices if it has any (lists and JSON have none)? The arena is for the work. */
bool params_fits(const struct config_param_decl *param, struct str text, struct arena *arena);

/* Why a value without references must not be set for all agents of a workspace: the first of those
 * that declare the parameter whom it does not fit. ERR_INVALID. */
int params_check_workspace(struct db *db, int64_t tenant_id, struct str key, struct str text,
                           struct error *err) MUST_CHECK;

/* The sentence about a value that does not fit. ERR_INVALID. */
int params_refuse(const struct config_param_decl *param, struct str agent_name, struct error *err);
