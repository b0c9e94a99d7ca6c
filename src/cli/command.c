/* command.c - the table of commands, and what they share. */
#include "cli/command.h"

#include "api/answers.h"
#include "cli/client.h"
#include "cli/print.h"
#include "shape/problems.h"
#include "shape/table.h"

/* clang-format off */
const struct command commands[] = {
    { "serve",   NULL,     "[settings]", 0, "", "serve the API until SIGTERM", run_serve },
    { "tenant",  "add",    "SLUG [--name TEXT] [--max-agents N] [--rate-limit N]", 1, "name max-agents rate-limit", "make a tenant", run_tenant_add },
    { "tenant",  "set",    "SLUG [--name TEXT] [--max-agents N] [--rate-limit N]", 1, "name max-agents rate-limit", "change name and plan of a tenant", run_tenant_set },
    { "tenant",  "list",   "", 0, "", "list the tenants", run_tenant_list },
    { "key",     "add",    "--tenant SLUG [--agent NAME] [--label TEXT] [--expires DATE-TIME]", 0, "tenant agent label expires", "make a key and print its token, this once", run_key_add },
    { "key",     "list",   "--tenant SLUG", 0, "tenant", "list the keys of a tenant, without their tokens", run_key_list },
    { "key",     "rotate", "KEY_ID --tenant SLUG", 1, "tenant", "make a key in place of another, which ends five minutes later; print its token, this once", run_key_rotate },
    { "key",     "revoke", "KEY_ID --tenant SLUG", 1, "tenant", "revoke a key at once", run_key_revoke },
    { "agent",   "list",   "--tenant SLUG", 0, "tenant", "list the agents of a tenant, and how they are doing", run_agent_list },
    { "agent",   "enable", "NAME --tenant SLUG", 1, "tenant", "take reports of an agent again", run_agent_enable },
    { "agent",   "disable", "NAME --tenant SLUG", 1, "tenant", "reject the reports of an agent", run_agent_disable },
    { "agent",   "delete", "NAME --tenant SLUG", 1, "tenant", "remove an agent and revoke its keys; what it reported stays", run_agent_delete },
    { "model",   "set",    "MODEL [--tenant SLUG [--agent NAME]]", 1, "tenant agent", "set the LLM model that agents must use; no tenant: the platform's default", run_model_set },
    { "model",   "unset",  "[--tenant SLUG [--agent NAME]]", 0, "tenant agent", "leave the model to the workspace or the platform again", run_model_unset },
    { "model",   "show",   "[--tenant SLUG [--agent NAME]]", 0, "tenant agent", "show the model that holds", run_model_show },
    { "policy",  "set",    "FILE.json [--tenant SLUG [--agent NAME]]", 1, "tenant agent", "set the commands that agents may run: {\"mode\":…,\"allow\":[…],\"deny\":[…]}", run_policy_set },
    { "policy",  "unset",  "[--tenant SLUG [--agent NAME]]", 0, "tenant agent", "leave the policy to the workspace or the platform again", run_policy_unset },
    { "policy",  "show",   "[--tenant SLUG [--agent NAME]]", 0, "tenant agent", "show the policy that holds", run_policy_show },
    { "document", "set",    "FILE --tenant SLUG --agent NAME [--format text|markdown|json|yaml]", 1, "tenant agent format", "set an agent's configuration document; the format is else told by the file's name", run_document_set },
    { "document", "show",   "--tenant SLUG --agent NAME [--version N]", 0, "tenant agent version", "print an agent's document as it is", run_document_show },
    { "document", "history", "--tenant SLUG --agent NAME", 0, "tenant agent", "list the versions of an agent's document", run_document_history },
    { "document", "diff",   "FROM TO --tenant SLUG --agent NAME", 2, "tenant agent", "show what changed between two versions", run_document_diff },
    { "document", "restore", "VERSION --tenant SLUG --agent NAME", 1, "tenant agent", "make an old version the newest again", run_document_restore },
    { "price",   "set",    "MODEL --input USD --output USD [--cache-read USD] [--cache-write USD] [--input-includes-cache] [--provider NAME] [--valid-from DATE-TIME]", 1, "input output cache-read cache-write input-includes-cache! provider valid-from", "set what a million tokens of a model cost, since ever or from a moment on", run_price_set },
    { "price",   "import", "FILE.json [--format litellm|muster] [--valid-from DATE-TIME]", 1, "format valid-from", "take over a file of prices, or nothing of it", run_price_import },
    { "price",   "list",   "[--model MODEL]", 0, "model", "list the prices; with a model, those that its usage is priced by", run_price_list },
    { "price",   "rm",     "ID", 1, "", "take a price away", run_price_rm },
    { "secret",  "set",    "NAME --tenant SLUG [--shared|--not-shared]", 1, "tenant shared! not-shared!", "set a secret; its value is read from standard input, or asked for", run_secret_set },
    { "secret",  "list",   "--tenant SLUG", 0, "tenant", "list the secrets of a tenant, without their values", run_secret_list },
    { "secret",  "rm",     "NAME --tenant SLUG", 1, "tenant", "remove a secret", run_secret_rm },
    { "value",   "set",    "KEY VALUE --tenant SLUG [--agent NAME]", 2, "tenant agent", "set a configuration value of a workspace or an agent; vault:NAME refers to a secret", run_value_set },
    { "value",   "list",   "--tenant SLUG [--agent NAME]", 0, "tenant agent", "list the values of a workspace, or what holds for an agent", run_value_list },
    { "value",   "rm",     "KEY --tenant SLUG [--agent NAME]", 1, "tenant agent", "unset a configuration value", run_value_rm },
    { "catalog", "list",   "--tenant SLUG", 0, "tenant", "list who may set and see which parameters", run_catalog_list },
    { "catalog", "set",    "KEY --tenant SLUG [--secret yes|no] [--edit admin|member] [--see admin|member|nobody]", 1, "tenant secret edit see", "change who may set and see a parameter", run_catalog_set },
    { "vault",   "rotate", "", 0, "", "make a new master key, while everything goes on", run_vault_rotate },
    { "rule",    "show",   "--tenant SLUG", 0, "tenant", "show what a tenant is alerted of", run_rule_show },
    { "rule",    "set",    "FILE.json --tenant SLUG", 1, "tenant", "replace what a tenant is alerted of: {\"run_failed\":…,\"run_stuck\":…,\"kpis\":[…],\"budgets\":[…]}", run_rule_set },
    { "webhook", "add",    "URL --tenant SLUG [--format standard|slack|email] [--types TYPE,...] [--label TEXT]", 1, "tenant format types label", "make a webhook and print its secret, this once", run_webhook_add },
    { "webhook", "list",   "--tenant SLUG", 0, "tenant", "list the webhooks of a tenant", run_webhook_list },
    { "webhook", "rm",     "ID --tenant SLUG", 1, "tenant", "remove a webhook and its deliveries", run_webhook_rm },
    { "webhook", "enable", "ID --tenant SLUG", 1, "tenant", "send to a webhook again", run_webhook_enable },
    { "webhook", "disable", "ID --tenant SLUG", 1, "tenant", "send nothing to a webhook, and give up what waits", run_webhook_disable },
    { "webhook", "rotate", "ID --tenant SLUG", 1, "tenant", "make a new secret and print it; the old one signs too for a day", run_webhook_rotate },
    { "webhook", "test",   "ID --tenant SLUG", 1, "tenant", "send a test message at once and tell what came of it", run_webhook_test },
    { "webhook", "deliveries", "ID --tenant SLUG", 1, "tenant", "show what was sent to a webhook, newest first", run_webhook_deliveries },
    { "webhook", "retry",  "ID DELIVERY --tenant SLUG", 2, "tenant", "send it again at once", run_webhook_retry },
    { "retention", "show", "--tenant SLUG", 0, "tenant", "show how long a tenant's data is kept", run_retention_show },
    { "retention", "set",  "--tenant SLUG [--events DAYS] [--business DAYS] [--llm DAYS] [--keep-failed N]", 0, "tenant events business llm keep-failed", "set after how many days data is deleted, or 'forever'; what is not named stays", run_retention_set },
    { "run",     "rebuild", "--tenant SLUG", 0, "tenant", "make the states of runs anew from their events", run_run_rebuild },
    { "audit",   "list",   "[--tenant SLUG] [--action NOUN.VERB] [--actor WHO] [--since WHEN] [--until WHEN] [--limit N]", 0, "tenant action actor since until limit", "show the newest entries of the audit log; no tenant: the platform's", run_audit_list },
    { "audit",   "verify", "[--tenant SLUG]", 0, "tenant", "is the audit log as it was written; no tenant: the platform's and all tenants'", run_audit_verify },
    { "user",    "add",    "EMAIL --role platform_admin | EMAIL --tenant SLUG --role admin|member [--password-stdin]", 1, "role tenant password-stdin!", "make a user, or give one a role in a tenant; asks for the password of a new one", run_user_add },
    { "user",    "list",   "[--tenant SLUG]", 0, "tenant", "list the users, or those with a role in a tenant", run_user_list },
    { "user",    "passwd", "EMAIL [--password-stdin]", 1, "password-stdin!", "set a user's password and end their sessions", run_user_passwd },
    { "user",    "rm",     "EMAIL [--tenant SLUG]", 1, "tenant", "remove a user, or take their role in a tenant away", run_user_rm },
    { "export",  "events", "--tenant SLUG [--format csv] [--range RANGE] [--output FILE]", 0, "tenant format range output", "write all events of a time range (30d), a line each", run_export_events },
    { "export",  "business", "--tenant SLUG [--format csv] [--range RANGE] [--output FILE]", 0, "tenant format range output", "write all business values and breakdowns of a time range", run_export_business },
    { "export",  "llm",    "--tenant SLUG [--format csv] [--range RANGE] [--output FILE]", 0, "tenant format range output", "write all LLM usage of a time range", run_export_llm },
    { "backup",  NULL,     "FILE", 1, "", "copy the embedded database into a new file, whether or not a server runs", run_backup },
    { "restore", NULL,     "FILE", 1, "", "make a backup the database of a data directory that has none", run_restore },
    { "check",   NULL,     "", 0, "", "is the database sound, and the audit log as it was written", run_check },
    { "completion", NULL,  "bash", 1, "", "print a script that lets bash complete commands, flags and files", run_completion },
    { "openapi", NULL,     "", 0, "", "print the OpenAPI document", run_openapi },
    { "settings", NULL,    "", 0, "", "print the reference page of the settings", run_settings },
    { "version", NULL,     "", 0, "", "print the version", run_version },
};
/* clang-format on */

const size_t n_commands = COUNT_OF(commands);

const char *command_flag(const struct invocation *in, const char *name)
{
    for (size_t i = 0; i < in->n_flags; i++)
        if (strcmp(in->flags[i].name, name) == 0)
            return in->flags[i].value;
    return NULL;
}

int command_number(const struct invocation *in, const char *name, int64_t absent, int64_t *ret,
                   struct error *err)
{
    const char *value = command_flag(in, name);

    *ret = absent;
    if (value == NULL || (str_to_int(str_of(value), ret) && *ret >= 1))
        return 0;
    return err_set(err, ERR_INVALID, "--%s: '%s' is not a whole number from 1 on", name, value);
}

int command_fail(const struct error *err)
{
    say(stderr, "muster: %s\n", err->text);
    return err->code == ERR_INVALID ? EXIT_USAGE : EXIT_FAILED;
}

/* The part of a 422 that people want to read. */
struct problem_item {
    struct str loc, msg;
};

struct problem_list {
    struct list detail;
};

/* clang-format off */
#define OWNER struct problem_item
SHAPE_BEGIN(problem_shape)
    { JSON(loc), .flags = F_REQUIRED },
    { STR(msg), .flags = F_REQUIRED },
STATIC_SHAPE_END(problem_shape, "Problem");
#undef OWNER
#define OWNER struct problem_list
SHAPE_BEGIN(problem_list_shape)
    { LIST(detail, problem_shape), .flags = F_REQUIRED },
STATIC_SHAPE_END(problem_list_shape, "Problems");
#undef OWNER
/* clang-format on */

int command_read(const struct client_reply *reply, const struct shape *shape, struct arena *arena,
                 void *ret, struct error *err)
{
    struct problems *problems = problems_new(arena, "body");

    if (shape_read_json(shape, reply->body, arena, ret, problems) == 0)
        return 0;
    return err_set(err, ERR_INTERNAL, "the server's answer cannot be read (status %d)",
                   reply->status);
}

/* ["body","prices",3,"model"] as "prices 3 model": the body, path or query is named only where no
 * member of it is. */
static struct str place_text(struct str loc, struct arena *arena)
{
    char *text = arena_alloc(arena, loc.len + 1);
    struct str rest = loc;
    size_t n = 0;

    (void)str_split(&rest, ',');
    if (str_starts(rest, STR_LIT("\"")))
        loc = rest;
    for (size_t i = 0; i < loc.len; i++)
        if (loc.data[i] != '"' && loc.data[i] != '[' && loc.data[i] != ']')
            text[n++] = (char)(loc.data[i] == ',' ? ' ' : loc.data[i]);
    return str_from(text, n);
}

/* A sentence of ours stands after what pydantic puts before it. */
static struct str sentence_of(struct str msg)
{
    const struct str before = STR_LIT("Value error, ");

    return str_starts(msg, before) ? str_from(msg.data + before.len, msg.len - before.len) : msg;
}

static int problem_error(const struct problem_item *problem, struct arena *arena, struct error *err)
{
    struct str place = place_text(problem->loc, arena), msg = sentence_of(problem->msg);

    return err_set(err, ERR_FORBIDDEN, "%.*s: %.*s", STR_ARG(place), STR_ARG(msg));
}

int command_check(const struct client_reply *reply, struct arena *arena, struct error *err)
{
    struct error_answer answer;
    struct problem_list list;

    if (reply->status >= 200 && reply->status < 300)
        return 0;
    if (reply->status == 422 && command_read(reply, &problem_list_shape, arena, &list, NULL) == 0 &&
        list.detail.n > 0)
        return problem_error(list.detail.items, arena, err);
    if (command_read(reply, &error_answer_shape, arena, &answer, err) != 0)
        return -1;
    return err_set(err, ERR_FORBIDDEN, "%.*s", STR_ARG(answer.detail));
}
