/* secrets.h - secrets of a tenant: users set, list and delete them, but never read them back.
 *
 * All run inside a transaction or on a reader, with the caller's connection;
 * answers are in the arena.
 */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "features/vault/secrets_store.h"
#include "features/vault/shapes.h"

struct db;
struct vault;
struct vault_opener;

/* The secrets of one tenant. */
struct secrets {
    struct vault *vault;
    int64_t tenant_id;
};

int secrets_set(const struct secrets *s, struct db *db, struct str name,
                const struct secret_set *set, struct secret *ret, struct error *err) MUST_CHECK;

/* Appends the secret's value to `out`, which the caller releases with vault_wipe(). */
int secrets_open(const struct secrets *s, struct vault_opener *opener, const struct secret_row *row,
                 struct buf *out, struct error *err) MUST_CHECK;
