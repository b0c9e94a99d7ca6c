/* key_create.h - a new key and its token. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct db;
struct key_row;

/* Stores a key for what `row` says of tenant, agent, label, expiry and predecessor; fills in the
 * rest of it. *ret_token is the only copy of the token, in the arena. */
int key_make(struct db *db, struct key_row *row, struct arena *arena, struct str *ret_token,
             struct error *err) MUST_CHECK;

/* "workspace", or "agent" for a key that is bound to one. */
struct str key_kind_name(struct str agent_name);
