/* id_list.h - many numbers or texts as one parameter of a statement. */
#pragma once
#include "base/arena.h"
#include "db/db.h"

/* For unnest($2::bigint[]) in PostgreSQL and json_each($2) in SQLite; in the arena. */
struct db_value db_id_list(const struct db *db, const int64_t *ids, size_t n, struct arena *arena);

/* The same of texts, for unnest($2::text[]) and json_each($2). */
struct db_value db_text_list(const struct db *db, const struct str *texts, size_t n,
                             struct arena *arena);
