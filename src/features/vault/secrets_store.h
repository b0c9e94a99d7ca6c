/* secrets_store.h - secrets as rows, sealed (features/vault/vault.h). */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct db;

struct secret_row {
    struct str name;
    bool shared;
    int64_t version; /* 0: there is none */
    struct str sealed;
    int64_t created_at, updated_at;
};

/* In the arena; likewise below. */
int store_secret(struct db *db, int64_t tenant_id, struct str name, struct arena *arena,
                 struct secret_row *ret, struct error *err) MUST_CHECK;

/* By name, without what is sealed. */
int store_secrets(struct db *db, int64_t tenant_id, struct arena *arena, struct secret_row **ret,
                  size_t *ret_n, struct error *err) MUST_CHECK;

/* Adds it, or replaces the one of the version before; ERR_CONFLICT when another process was
 * faster. */
int store_secret_put(struct db *db, int64_t tenant_id, const struct secret_row *row,
                     struct error *err) MUST_CHECK;

/* ERR_NOT_FOUND. */
int store_secret_remove(struct db *db, int64_t tenant_id, struct str name,
                        struct error *err) MUST_CHECK;
