/* config.h - an agent's configuration: what holds for each parameter, with secrets in their place.
 *
 * Two steps, with the caller's connection and one view of the database: what
 * the answer is made of, of which a tag tells whether it has changed; then
 * the answer itself, for which secrets are opened. Whoever gives it away must
 * have entered that in the audit log before.
 */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "features/vault/secrets.h"
#include "shape/shape.h"

struct db;

struct config_part;

struct config {
    const struct secrets *secrets; /* the tenant's; borrowed */
    struct str agent_name;
    struct config_part *parts; /* one a parameter, in the order of its declaration */
    size_t n_parts;
    struct list names; /* of struct str: the secrets that are in it, each once */
    struct str tag;    /* an ETag with its quotes; it tells nothing about the values */
    struct str
        missing; /* required keys without a value: percent-encoded, comma list; or STR_NULL */
};

/* In the arena. ERR_CONFLICT, naming the key, when a value refers to a secret that there is not, or
 * that is not shared. */
int config_prepare(struct db *db, const struct secrets *secrets, struct str agent_name,
                   struct arena *arena, struct config *ret, struct error *err) MUST_CHECK;

/* Appends the answer, a JSON object, to `out`: whole or, on failure, nothing of use. vault_wipe()
 * ends it. ERR_CONFLICT, naming the key, when a value does not fit its type. */
int config_write(struct db *db, const struct config *config, struct arena *arena, struct buf *out,
                 struct error *err) MUST_CHECK;
