/* webhooks.h - a tenant's webhooks: making, changing and listing them, and what they were sent.
 *
 * All run inside a transaction or on a reader, with the caller's connection.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/webhooks/target.h"

struct courier;
struct db;
struct deliveries_query;
struct delivery_list;
struct engine;
struct vault;
struct webhook;
struct webhook_create;
struct webhook_list;
struct webhook_patch;

/* Where they may lead, and what seals their secrets. */
struct webhooks_context {
    struct vault *vault;
    struct target_rules rules;
};

/* What every call here needs. */
struct webhooks_call {
    struct db *db;
    const struct webhooks_context *context;
    int64_t tenant_id;
    struct str webhook_id; /* where one is meant */
    struct arena *arena;   /* of what is answered */
};

/* NULL, or a sentence that says why this URL cannot be used. */
const char *webhooks_check_url(const struct webhooks_context *context, struct str url);

/* Its secret is in *ret, this once. ERR_CONFLICT when there are too many. */
int webhooks_add(const struct webhooks_call *call, const struct webhook_create *create,
                 struct webhook *ret, struct error *err) MUST_CHECK;

/* Changes what the patch names. ERR_NOT_FOUND, as all below. */
int webhooks_set(const struct webhooks_call *call, const struct webhook_patch *patch,
                 struct webhook *ret, struct error *err) MUST_CHECK;

int webhooks_list(const struct webhooks_call *call, struct webhook_list *ret,
                  struct error *err) MUST_CHECK;

int webhooks_remove(const struct webhooks_call *call, struct error *err) MUST_CHECK;

int webhooks_deliveries(const struct webhooks_call *call, const struct deliveries_query *query,
                        struct delivery_list *ret, struct error *err) MUST_CHECK;

/* The delivery is due at once. ERR_CONFLICT when the webhook is switched off. */
/* ERR_NOT_FOUND when there is none of that id. */
int webhooks_find(const struct webhooks_call *call, struct error *err) MUST_CHECK;

int webhooks_retry(const struct webhooks_call *call, struct str delivery_id,
                   struct error *err) MUST_CHECK;

/* The engine's. Any thread. */
const struct webhooks_context *webhooks_context(const struct engine *e);
struct courier *webhooks_courier(const struct engine *e);
