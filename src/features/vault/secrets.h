/* secrets.h - secrets of a tenant: users set, list and delete them, but never read them back.
 *
 * All run inside a transaction or on a reader, with the caller's connection;
 * answers are in the arena.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "features/vault/shapes.h"
#include "features/vault/vault.h"

/* The secrets of one tenant. */
struct secrets {
    struct vault *vault;
    int64_t tenant_id;
};

#define SECRET_KIND "secret" /* of their label */
extern const struct sealed_table secrets_sealed;

/* Rows are structs with what is sealed; version 0: no such secret. In the arena. */
int secret_get(struct db *db, int64_t tenant_id, struct str name, struct arena *arena,
               struct secret *ret, struct error *err) MUST_CHECK;

/* Names of secrets, and how many bytes of what is sealed are read. */
struct secrets_wanted {
    struct list names; /* of struct str */
    int64_t bytes;
};

/* Those that exist, by the bytes of their names: a list of struct secret; in the arena. */
int secrets_named(struct db *db, int64_t tenant_id, const struct secrets_wanted *wanted,
                  struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

/* By name: a list of struct secret; in the arena. */
int secrets_list(struct db *db, int64_t tenant_id, struct arena *arena, struct list *ret,
                 struct error *err) MUST_CHECK;

/* ERR_CONFLICT when there are SECRETS_MAX: lists read all of them. */
int secrets_check_room(struct db *db, int64_t tenant_id, struct error *err) MUST_CHECK;

/* Adds the secret, or replaces its previous version; ERR_CONFLICT when another process replaced it
 * first. */
int secret_put(struct db *db, int64_t tenant_id, const struct secret *row,
               struct error *err) MUST_CHECK;

/* ERR_NOT_FOUND. */
int secret_remove(struct db *db, int64_t tenant_id, struct str name, struct error *err) MUST_CHECK;

int secrets_set(const struct secrets *s, struct db *db, struct str name,
                const struct secret_set *set, struct secret *ret, struct error *err) MUST_CHECK;

/* Appends the secret's value to `out`, which the caller releases with vault_wipe(). */
int secrets_open(const struct secrets *s, struct vault_opener *opener, const struct secret *row,
                 struct buf *out, struct error *err) MUST_CHECK;

/* References to secrets in configuration values: vault:NAME as the whole value, ${vault:NAME}
 * inside a longer one. Pure functions. */

/* A part of a value: a secret's name, or plain text. */
struct reference_part {
    struct str text;
    bool is_secret;
};

/* The problem with the references in a value, as a sentence; NULL: none. */
const char *reference_problem(struct str value);

/* The next part of a value without problems; false at its end. Begin with `*at` 0. */
bool reference_next(struct str value, size_t *at, struct reference_part *ret);

bool reference_is_in(struct str value);
