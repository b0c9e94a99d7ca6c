/* examples.c - command lines that work, for each command. */
#include <string.h>

#include "cli/command.h"
#include "cli/help.h"

struct example {
    const char *noun, *verb;
    const char *lines; /* one or two */
};

/* clang-format off */
static const struct example examples[] = {
    { "serve",    NULL,       "muster serve --data /var/lib/muster --listen 127.0.0.1:8080\n"
                              "muster serve --database postgresql://muster@db/muster" },
    { "tenant",   "add",      "muster tenant add acme --name 'Acme Ltd' --max-agents 20" },
    { "tenant",   "set",      "muster tenant set acme --rate-limit 600" },
    { "tenant",   "list",     "muster tenant list --json" },
    { "key",      "add",      "muster key add --tenant acme --label fleet\n"
                              "muster key add --tenant acme --agent collector --expires 2030-01-01T00:00:00Z" },
    { "key",      "list",     "muster key list --tenant acme" },
    { "key",      "rotate",   "muster key rotate key_8sYt0KcPq2mWx4Zb --tenant acme" },
    { "key",      "revoke",   "muster key revoke key_8sYt0KcPq2mWx4Zb --tenant acme" },
    { "agent",    "list",     "muster agent list --tenant acme" },
    { "agent",    "enable",   "muster agent enable collector --tenant acme" },
    { "agent",    "disable",  "muster agent disable collector --tenant acme" },
    { "agent",    "delete",   "muster agent delete collector --tenant acme" },
    { "user",     "add",      "muster user add ada@example.com --role platform_admin\n"
                              "muster user add bob@example.com --tenant acme --role member --password-stdin < file" },
    { "user",     "list",     "muster user list --tenant acme" },
    { "user",     "passwd",   "muster user passwd ada@example.com" },
    { "user",     "rm",       "muster user rm bob@example.com --tenant acme" },
    { "model",    "set",      "muster model set claude-sonnet-4\n"
                              "muster model set gpt-4o-mini --tenant acme --agent collector" },
    { "model",    "unset",    "muster model unset --tenant acme --agent collector" },
    { "model",    "show",     "muster model show --tenant acme" },
    { "policy",   "set",      "muster policy set policy.json --tenant acme" },
    { "policy",   "unset",    "muster policy unset --tenant acme --agent collector" },
    { "policy",   "show",     "muster policy show --tenant acme --agent collector" },
    { "document", "set",      "muster document set collector.yaml --tenant acme --agent collector" },
    { "document", "show",     "muster document show --tenant acme --agent collector --version 3" },
    { "document", "history",  "muster document history --tenant acme --agent collector" },
    { "document", "diff",     "muster document diff 2 3 --tenant acme --agent collector" },
    { "document", "restore",  "muster document restore 2 --tenant acme --agent collector" },
    { "secret",   "set",      "muster secret set CRM_TOKEN --tenant acme < token.txt" },
    { "secret",   "list",     "muster secret list --tenant acme" },
    { "secret",   "rm",       "muster secret rm CRM_TOKEN --tenant acme" },
    { "value",    "set",      "muster value set crm.url https://crm.example.com --tenant acme\n"
                              "muster value set crm.token vault:CRM_TOKEN --tenant acme --agent collector" },
    { "value",    "list",     "muster value list --tenant acme --agent collector" },
    { "value",    "rm",       "muster value rm crm.url --tenant acme" },
    { "catalog",  "list",     "muster catalog list --tenant acme" },
    { "catalog",  "set",      "muster catalog set crm.token --tenant acme --secret yes --see nobody" },
    { "vault",    "rotate",   "muster vault rotate" },
    { "price",    "set",      "muster price set claude-sonnet-4 --input 3 --output 15 --cache-read 0.3" },
    { "price",    "import",   "muster price import prices.json --format litellm" },
    { "price",    "list",     "muster price list --model claude-sonnet-4" },
    { "price",    "rm",       "muster price rm 7" },
    { "rule",     "show",     "muster rule show --tenant acme" },
    { "rule",     "set",      "muster rule set rules.json --tenant acme" },
    { "webhook",  "add",      "muster webhook add https://hooks.example.com/muster --tenant acme --types agent.silent,agent.recovered\n"
                              "muster webhook add mailto:ops@example.com --tenant acme" },
    { "webhook",  "list",     "muster webhook list --tenant acme" },
    { "webhook",  "rm",       "muster webhook rm whk_8hJk2LmN4pQr6StU --tenant acme" },
    { "webhook",  "enable",   "muster webhook enable whk_8hJk2LmN4pQr6StU --tenant acme" },
    { "webhook",  "disable",  "muster webhook disable whk_8hJk2LmN4pQr6StU --tenant acme" },
    { "webhook",  "rotate",   "muster webhook rotate whk_8hJk2LmN4pQr6StU --tenant acme" },
    { "webhook",  "test",     "muster webhook test whk_8hJk2LmN4pQr6StU --tenant acme" },
    { "webhook",  "deliveries", "muster webhook deliveries whk_8hJk2LmN4pQr6StU --tenant acme" },
    { "webhook",  "retry",    "muster webhook retry whk_8hJk2LmN4pQr6StU dlv_0TZbT2mvAoUxE4qsbdVKo --tenant acme" },
    { "retention", "show",    "muster retention show --tenant acme" },
    { "retention", "set",     "muster retention set --tenant acme --events 90 --keep-failed 20\n"
                              "muster retention set --tenant acme --business 365 --llm forever" },
    { "run",      "rebuild",  "muster run rebuild --tenant acme" },
    { "audit",    "list",     "muster audit list --tenant acme --since 7d\n"
                              "muster audit list --action tenant.add" },
    { "audit",    "verify",   "muster audit verify" },
    { "export",   "events",   "muster export events --tenant acme --range 7d --output events.ndjson" },
    { "export",   "business", "muster export business --tenant acme --format csv" },
    { "export",   "llm",      "muster export llm --tenant acme --range last_month --format csv" },
    { "backup",   NULL,       "muster backup /var/backups/muster-monday.db" },
    { "restore",  NULL,       "muster restore /var/backups/muster-monday.db --data ./data-new" },
    { "check",    NULL,       "muster check --data /var/lib/muster" },
    { "completion", NULL,     "source <(muster completion bash)" },
    { "openapi",  NULL,       "muster openapi > openapi.json" },
    { "settings", NULL,       "muster settings > SETTINGS.md" },
    { "version",  NULL,       "muster version --json" },
};
/* clang-format on */

static bool is_of(const struct example *e, const struct command *c)
{
    if (strcmp(e->noun, c->noun) != 0 || (e->verb == NULL) != (c->verb == NULL))
        return false;
    return e->verb == NULL || strcmp(e->verb, c->verb) == 0;
}

const char *help_examples(const struct command *c)
{
    for (size_t i = 0; i < COUNT_OF(examples); i++)
        if (is_of(&examples[i], c))
            return examples[i].lines;
    return NULL;
}
