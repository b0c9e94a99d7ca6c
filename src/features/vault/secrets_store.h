/* secrets_store.h - secrets as rows, sealed (features/vault/vault.h). */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "features/vault/sealed_table.h"
#include "shape/shape.h"

struct db;

#define SECRET_KIND "secret" /* of their label */
extern const struct sealed_table secrets_sealed;

struct secret_row {
    struct str name;
    bool shared;
    int64_t version; /* 0: no such secret */
    struct str sealed;
    int64_t created_at, updated_at;
};

/* In the arena. */
int store_secret(struct db *db, int64_t tenant_id, struct str name, struct arena *arena,
                 struct secret_row *ret, struct error *err) MUST_CHECK;

/* Names of secrets, and how many bytes of what is sealed are read. */
struct secrets_wanted {
    struct list names; /* of struct str */
    int64_t bytes;
};

/* Those that exist, by the bytes of their names: a list of struct secret_row; in the arena. */
int store_secrets_named(struct db *db, int64_t tenant_id, const struct secrets_wanted *wanted,
                        struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

/* By name: a list of struct secret; in the arena. */
int store_secrets(struct db *db, int64_t tenant_id, struct arena *arena, struct list *ret,
                  struct error *err) MUST_CHECK;

/* ERR_CONFLICT when there are SECRETS_MAX: lists and pulls of configuration read all of them. */
int store_secrets_check_room(struct db *db, int64_t tenant_id, struct error *err) MUST_CHECK;

/* Adds the secret, or replaces its previous version; ERR_CONFLICT when another process replaced it
 * first. */
int store_secret_put(struct db *db, int64_t tenant_id, const struct secret_row *row,
                     struct error *err) MUST_CHECK;

/* ERR_NOT_FOUND. */
int store_secret_remove(struct db *db, int64_t tenant_id, struct str name,
                        struct error *err) MUST_CHECK;
