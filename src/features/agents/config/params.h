/* params.h - the parameters that an agent has declared, and whether values are valid for them.
 *
 * Values are stored as text. The declaration's value_type says how to read
 * them; an unknown type is a string.
 */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "features/agents/shapes.h"

struct db;

/* string, integer, number, boolean, json or list. */
bool config_type_is_known(struct str value_type);

/* Is the text a valid value of this type? The arena is for temporary data. */
bool config_type_fits(struct str value_type, struct str text, struct arena *arena);

/* Appends the text as a JSON value of this type: integers without decimals (5.0 as 5), the rest
 * compact. False, and nothing appended, when the text is not valid. The arena is for temporary
 * data. */
bool config_type_write(struct str value_type, struct str text, struct arena *arena,
                       struct buf *out) MUST_CHECK;

/* The agent's declaration, in the arena; without parameters when it has declared none. */
int params_of_agent(struct db *db, int64_t tenant_id, struct str agent_name, struct arena *arena,
                    struct config_schema_decl *ret, struct error *err) MUST_CHECK;

/* NULL when it is not declared. */
const struct config_param_decl *params_find(const struct config_schema_decl *decl, struct str key);

/* Is the text, without references, valid for the parameter: of its type, and one of its choices if
 * it has any (lists and JSON have none)? The arena is for temporary data. */
bool params_fits(const struct config_param_decl *param, struct str text, struct arena *arena);

/* Checks a value without references for a workspace. ERR_INVALID, naming the first agent that
 * declares the parameter in a way that the value is not valid for. */
int params_check_workspace(struct db *db, int64_t tenant_id, struct str key, struct str text,
                           struct error *err) MUST_CHECK;

/* The error for a value that is not valid. ERR_INVALID. */
int params_refuse(const struct config_param_decl *param, struct str agent_name, struct error *err);
