/* webhooks.h - what the feature has for its routes: its rules, its vault and its courier. */
#pragma once
#include <stdbool.h>

#include "api/route.h"
#include "base/err.h"
#include "cli/command.h"
#include "features/webhooks/target.h"

struct courier;
struct engine;
struct vault;

/* The rules for targets, and the vault that seals the secrets. */
struct webhooks_context {
    struct vault *vault;
    struct target_rules rules;
    bool sends_mail; /* the settings name a mail server and a sender */
};

/* The engine's. Any thread. */
const struct webhooks_context *webhooks_context(const struct engine *e);

/* What is left of removed webhooks goes in steps, without waiting for the next round of that. */
void webhooks_forget_soon(const struct engine *e);

/* The engine's courier; NULL when a server has ended it or a command, which starts one only when it
 * needs it, cannot. */
struct courier *webhooks_courier(struct engine *e, struct error *err) MUST_CHECK;

extern const struct route webhook_routes[];
extern const struct command webhook_commands[];
