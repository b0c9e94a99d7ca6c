/* reset_store.h - all that is sealed, whatever feature it belongs to, counted and dropped. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct db;
struct vault_losses;

int store_sealed_count(struct db *db, struct vault_losses *ret, struct error *err) MUST_CHECK;

/* Data keys too. Webhooks stay, without a secret; those whose receiver checks the signature
 * are switched off. */
int store_sealed_drop(struct db *db, struct error *err) MUST_CHECK;

/* Does a process write to this database that came before this session, the first of its process?
 * SQLite: no, who asks has the data directory. */
int store_used_by_others(struct db *db, bool *ret, struct error *err) MUST_CHECK;
