/* webhooks.h - a tenant's webhooks and their deliveries: create, change, delete, list, retry.
 *
 * All run inside a transaction or on a reader, with the caller's connection.
 */
#pragma once
#include <stdbool.h>

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

/* The rules for targets, and the vault that seals the secrets. */
struct webhooks_context {
    struct vault *vault;
    struct target_rules rules;
    bool sends_mail; /* the settings name a mail server and a sender */
};

/* Arguments of every call here. */
struct webhooks_call {
    struct db *db;
    const struct webhooks_context *context;
    int64_t tenant_id;
    bool tells_failed_runs; /* its rule run_failed is on */
    struct str webhook_id;  /* for calls about one webhook */
    struct arena *arena;    /* for the answer */
};

/* NULL, or a sentence that says why the URL cannot be used. */
const char *webhooks_check_url(const struct webhooks_context *context, struct str url);

/* Only this answer contains the secret. ERR_CONFLICT when there are too many. */
int webhooks_add(const struct webhooks_call *call, const struct webhook_create *create,
                 struct webhook *ret, struct error *err) MUST_CHECK;

/* Changes the fields set in the patch. ERR_NOT_FOUND, as all below. */
int webhooks_set(const struct webhooks_call *call, const struct webhook_patch *patch,
                 struct webhook *ret, struct error *err) MUST_CHECK;

int webhooks_list(const struct webhooks_call *call, struct webhook_list *ret,
                  struct error *err) MUST_CHECK;

/* Its deliveries go too, those that wait as well: the oldest now, the others with
 * webhooks_forget_soon(). */
int webhooks_remove(const struct webhooks_call *call, struct error *err) MUST_CHECK;

/* The list as it is without the webhook of the call. */
void webhooks_leave_out(const struct webhooks_call *call, struct webhook_list *list);

int webhooks_deliveries(const struct webhooks_call *call, const struct deliveries_query *query,
                        struct delivery_list *ret, struct error *err) MUST_CHECK;

/* Only checks that it exists. */
int webhooks_find(const struct webhooks_call *call, struct error *err) MUST_CHECK;

/* The delivery is due at once. ERR_CONFLICT when the webhook is disabled. */
int webhooks_retry(const struct webhooks_call *call, struct str delivery_id,
                   struct error *err) MUST_CHECK;

/* The engine's. Any thread. */
const struct webhooks_context *webhooks_context(const struct engine *e);

/* What is left of removed webhooks goes in steps, without waiting for the next round of that. */
void webhooks_forget_soon(const struct engine *e);

/* The engine's courier; NULL when a server has ended it or a command, which starts one only when it
 * needs it, cannot. */
struct courier *webhooks_courier(struct engine *e, struct error *err) MUST_CHECK;
