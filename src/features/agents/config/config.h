/* config.h - an agent's configuration: the value in effect for each parameter, secrets resolved.
 *
 * Two steps, with the caller's connection and one snapshot of the database:
 * config_prepare() reads the values and computes their ETag; config_write()
 * opens the secrets and writes the answer. The caller must write the audit
 * entry before it sends the answer.
 */
#pragma once
#include "base/err.h"
#include "features/vault/secrets.h"
#include "shape/shape.h"

struct config_part;
struct engine;
struct handouts;

/* Which secrets were handed out within the last hour, to which key and address; the engine's.
 * Thread-safe. Freeing NULL is fine. */
struct handouts *agents_handouts(const struct engine *e);
struct handouts *handouts_new(void);
void handouts_free(struct handouts *h);

/* A secret that the answer contains. */
struct config_secret {
    struct str name;
    struct str seal; /* another one each time it is sealed */
};

struct config {
    const struct secrets *secrets; /* the tenant's; borrowed */
    struct str agent_name;
    struct config_part *parts; /* one per parameter, in the order of the declaration */
    size_t n_parts;
    struct list opened; /* of struct config_secret: what it contains, each once */
    struct str tag;     /* an ETag with its quotes; reveals nothing about the values */
    struct str
        missing; /* required keys without a value: percent-encoded, comma list; or STR_NULL */
};

/* In the arena. ERR_CONFLICT, naming the key, when a value refers to a secret that does not exist
 * or is not shared. */
int config_prepare(struct db *db, const struct secrets *secrets, struct str agent_name,
                   struct arena *arena, struct config *ret, struct error *err) MUST_CHECK;

/* Appends the answer, a JSON object, to `out`, which the caller must release with vault_wipe();
 * incomplete on failure. ERR_CONFLICT, naming the key, when a value is not of its type. */
int config_write(struct db *db, const struct config *config, struct arena *arena, struct buf *out,
                 struct error *err) MUST_CHECK;
