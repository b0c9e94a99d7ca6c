/* command.h - the commands of the command line, one row each. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/settings.h"

struct client_reply;
struct command;
struct shape;

enum { COMMAND_FLAGS_MAX = 32, COMMAND_NAMES_MAX = 4 };

/* Exit statuses. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* A command line, taken apart and checked against the command's row. */
struct invocation {
    const struct command *command;
    const char *names[COMMAND_NAMES_MAX]; /* what is no flag, after the command's own words */
    size_t n_names;
    struct setting_flag flags[COMMAND_FLAGS_MAX]; /* the command's own */
    size_t n_flags;
    bool json;
    struct settings settings;
    struct arena arena;
};

struct command {
    const char *noun, *verb; /* verb NULL: the noun alone */
    const char *usage;       /* what follows the words */
    size_t n_names;          /* how many names it takes */
    const char *flags;       /* its own, separated by blanks, "name!" takes no value; settings are
                                always taken */
    const char *help;
    int (*run)(struct invocation *in); /* an exit status */
};

extern const struct command commands[];
extern const size_t n_commands;

int run_serve(struct invocation *in);
int run_tenant_add(struct invocation *in);
int run_tenant_set(struct invocation *in);
int run_tenant_list(struct invocation *in);
int run_key_add(struct invocation *in);
int run_key_list(struct invocation *in);
int run_key_rotate(struct invocation *in);
int run_key_revoke(struct invocation *in);
int run_agent_list(struct invocation *in);
int run_agent_enable(struct invocation *in);
int run_agent_disable(struct invocation *in);
int run_agent_delete(struct invocation *in);
int run_model_set(struct invocation *in);
int run_model_unset(struct invocation *in);
int run_model_show(struct invocation *in);
int run_policy_set(struct invocation *in);
int run_policy_unset(struct invocation *in);
int run_policy_show(struct invocation *in);
int run_secret_set(struct invocation *in);
int run_secret_list(struct invocation *in);
int run_secret_rm(struct invocation *in);
int run_value_set(struct invocation *in);
int run_value_list(struct invocation *in);
int run_value_rm(struct invocation *in);
int run_catalog_list(struct invocation *in);
int run_catalog_set(struct invocation *in);
int run_vault_rotate(struct invocation *in);
int run_document_set(struct invocation *in);
int run_document_show(struct invocation *in);
int run_document_history(struct invocation *in);
int run_document_diff(struct invocation *in);
int run_document_restore(struct invocation *in);
int run_price_set(struct invocation *in);
int run_price_import(struct invocation *in);
int run_price_list(struct invocation *in);
int run_price_rm(struct invocation *in);
int run_webhook_add(struct invocation *in);
int run_webhook_list(struct invocation *in);
int run_webhook_rm(struct invocation *in);
int run_webhook_enable(struct invocation *in);
int run_webhook_disable(struct invocation *in);
int run_webhook_rotate(struct invocation *in);
int run_webhook_test(struct invocation *in);
int run_webhook_deliveries(struct invocation *in);
int run_webhook_retry(struct invocation *in);
int run_rule_show(struct invocation *in);
int run_rule_set(struct invocation *in);
int run_retention_show(struct invocation *in);
int run_retention_set(struct invocation *in);
int run_run_rebuild(struct invocation *in);
int run_audit_list(struct invocation *in);
int run_audit_verify(struct invocation *in);
int run_export_events(struct invocation *in);
int run_export_business(struct invocation *in);
int run_export_llm(struct invocation *in);
int run_backup(struct invocation *in);
int run_restore(struct invocation *in);
int run_check(struct invocation *in);
int run_user_add(struct invocation *in);
int run_user_list(struct invocation *in);
int run_user_passwd(struct invocation *in);
int run_user_rm(struct invocation *in);
int run_completion(struct invocation *in);
int run_openapi(struct invocation *in);
int run_settings(struct invocation *in);
int run_version(struct invocation *in);

/* The value of one of the command's own flags; NULL when it was not given. */
const char *command_flag(const struct invocation *in, const char *name);

/* A flag that is a whole number from 1 on; `absent` when not given. */
int command_number(const struct invocation *in, const char *name, int64_t absent, int64_t *ret,
                   struct error *err) MUST_CHECK;

/* Says the sentence on standard error. What was wrong with the command line is ERR_INVALID and
 * gives EXIT_USAGE, everything else EXIT_FAILED. */
int command_fail(const struct error *err);

/* Did the server do it? Otherwise turns its error body into `err`, as ERR_FORBIDDEN. */
int command_check(const struct client_reply *reply, struct arena *arena,
                  struct error *err) MUST_CHECK;

/* The reply's body as a struct of this shape. */
int command_read(const struct client_reply *reply, const struct shape *shape, struct arena *arena,
                 void *ret, struct error *err) MUST_CHECK;
