/* key_create.h - creates a key and its token. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct db;
struct key_row;

/* Stores a key with the row's tenant, kind, label, expiry and predecessor, and fills in the rest
 * of the row. *ret_token is the only copy of the token, in the arena. */
int key_make(struct db *db, struct key_row *row, struct arena *arena, struct str *ret_token,
             struct error *err) MUST_CHECK;
