/* routes.c - everything the API offers. */
#include "api/answers.h"
#include "api/handlers.h"
#include "api/route.h"
#include "features/access/retention_shapes.h"
#include "features/access/shapes.h"
#include "features/access/users/shapes.h"
#include "features/agents/config/shapes.h"
#include "features/agents/directives/shapes.h"
#include "features/agents/documents/shapes.h"
#include "features/agents/shapes.h"
#include "features/alerts/rule_shapes.h"
#include "features/alerts/shapes.h"
#include "features/audit/shapes.h"
#include "features/cost/price_shapes.h"
#include "features/cost/report_shapes.h"
#include "features/cost/usage_shapes.h"
#include "features/events/shapes.h"
#include "features/export/shapes.h"
#include "features/fleet/shapes.h"
#include "features/kpis/report_shapes.h"
#include "features/kpis/shapes.h"
#include "features/vault/shapes.h"
#include "features/webhooks/shapes.h"

#define ROUTE(m, p, a, b, h, s, r, text)                                                           \
    .method = METHOD_##m, .path = (p), .auth = AUTH_##a, .body = (b), .handler = (h),              \
    .status = (s), .answer = (r), .summary = (text)

static const char *const live_media[] = { "text/event-stream", NULL };
static const char *const export_media[] = { "application/x-ndjson", "text/csv", NULL };

/* clang-format off */
const struct route routes[] = {
    { ROUTE(GET,    "/api/v1/health",                               OPEN,     NULL,                      get_health,     200, &health_answer_shape,    "Is the service up") },
    { ROUTE(GET,    "/openapi.json",                                OPEN,     NULL,                      get_openapi,    200, NULL,                    "This document") },
    { ROUTE(GET,    "/api/v1/openapi.json",                         OPEN,     NULL,                      get_openapi,    200, NULL,                    "This document") },
    { ROUTE(GET,    "/metrics",                                     OPEN,     NULL,                      get_metrics,    200, NULL,                    "Metrics"), .page = true },
    { ROUTE(GET,    "/",                                            OPEN,     NULL,                      get_portal,     200, NULL,                    "The portal"), .page = true },
    { ROUTE(GET,    "/assets/{name}",                               OPEN,     NULL,                      get_portal_asset, 200, NULL,                  "What its page loads"), .page = true },
    { ROUTE(GET,    "/api/v1/limits",                               ANY_KEY,  NULL,                      get_limits,     200, &limits_answer_shape,    "What is taken at most") },
    { ROUTE(POST,   "/api/v1/telemetry",                            ANY_KEY,  &telemetry_event_shape,    post_telemetry, 202, &event_verdict_shape,    "Report one run event") },
    { ROUTE(POST,   "/api/v1/telemetry/batch",                      ANY_KEY,  &telemetry_batch_shape, post_telemetry_batch, 202, &batch_verdict_shape, "Report many run events at once"), .limit = LIMIT_BATCH },
    { ROUTE(POST,   "/api/v1/telemetry/business",                   ANY_KEY,  &business_telemetry_shape, post_business,  202, &business_verdict_shape, "Report the business KPIs of one run"), .limit = LIMIT_BUSINESS },
    { ROUTE(POST,   "/api/v1/telemetry/llm",                        ANY_KEY,  &llm_usage_shape,          post_llm,       202, &llm_verdict_shape,      "Report the tokens that one run used of a model") },
    { ROUTE(POST,   "/api/v1/agents/register",                      ANY_KEY,  &agent_register_shape,     post_register,  200, &agent_registered_shape, "Say who the agent is and what it reports") },
    { ROUTE(POST,   "/api/v1/heartbeat",                            ANY_KEY,  NULL,                      post_heartbeat, 200, &heartbeat_answer_shape, "Say that a process is alive"), .query = &heartbeat_query_shape },
    { ROUTE(POST,   "/api/v1/agents/refresh-key",                   ANY_KEY,  NULL,                      post_refresh_key, 200, &key_refreshed_shape,  "Make a fresh key in place of the one that asks"), .audit = "key.rotate" },
    { ROUTE(GET,    "/api/v1/agents/model",                         ANY_KEY,  NULL,                      get_agent_model, 200, &agent_model_shape,      "The LLM model that the agent must use"), .query = &agent_query_shape, .tagged = true },
    { ROUTE(GET,    "/api/v1/agents/command-policy",                ANY_KEY,  NULL,                      get_agent_policy, 200, &command_policy_shape,   "The shell commands that the agent may run"), .query = &agent_query_shape, .tagged = true },
    { ROUTE(GET,    "/api/v1/agents/config",                        OWN_AGENT, NULL,                     get_agent_config, 200, NULL,                  "The agent's configuration, with secrets resolved"), .query = &agent_query_shape, .tagged = true, .audit = "config.resolve" },
    { ROUTE(GET,    "/api/v1/agents/document",                      ANY_KEY,  NULL,                      get_agent_document, 200, &agent_document_shape, "The agent's configuration document, as edited"), .query = &agent_query_shape, .tagged = true },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/llm/usage",             READ,     NULL,                      get_usage,      200, &usage_answer_shape,     "LLM usage and what it cost"), .params = &tenant_path_shape, .query = &usage_query_shape, .tagged = true },
    { ROUTE(GET,    "/api/v1/platform/prices",                      PLATFORM, NULL,                      get_prices,     200, &price_list_shape,       "What models cost"), .query = &prices_query_shape },
    { ROUTE(POST,   "/api/v1/platform/prices",                      PLATFORM, &price_create_shape,       post_price,     201, &price_shape,            "Set what a model costs, from a moment on"), .audit = "price.set" },
    { ROUTE(POST,   "/api/v1/platform/prices/import",               PLATFORM, &price_import_shape,       import_prices,  200, &price_imported_shape,   "Take over a file of prices, or nothing of it"), .limit = LIMIT_BUSINESS, .audit = "price.import" },
    { ROUTE(DELETE, "/api/v1/platform/prices/{price_id}",           PLATFORM, NULL,                      delete_price,   200, &price_shape,            "Take a price away"), .params = &price_path_shape, .audit = "price.rm" },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/prices",                READ,     NULL,                      get_prices,     200, &price_list_shape,       "What models cost"), .params = &tenant_path_shape, .query = &prices_query_shape },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/stream",                READ,     NULL,                      get_live,       200, NULL,                    "Live updates of runs, agents and alerts, as server-sent events"), .params = &tenant_path_shape, .media = live_media },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/export/events",         READ,     NULL,                      get_export_events, 200, &stored_event_shape,  "All events of a time range, in order of arrival, a line each"), .params = &tenant_path_shape, .query = &export_query_shape, .media = export_media },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/export/business",       READ,     NULL,                      get_export_business, 200, &business_line_shape, "All business values and cells of breakdowns of a time range, a line each"), .params = &tenant_path_shape, .query = &export_query_shape, .media = export_media },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/export/llm",            READ,     NULL,                      get_export_llm, 200, &llm_line_shape,         "All LLM usage of a time range, by time, a line each"), .params = &tenant_path_shape, .query = &export_query_shape, .media = export_media },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/business/catalog",      READ,     NULL,                      get_kpi_catalog, 200, &kpi_catalog_shape,     "Declared KPIs with label, unit, agg"), .params = &tenant_path_shape, .tagged = true },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/business/summary",      READ,     NULL,                      get_kpi_summary, 200, &kpi_summary_shape,     "KPIs over a range, totalled as each was declared"), .params = &tenant_path_shape, .query = &summary_query_shape, .tagged = true },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/business/series",       READ,     NULL,                      get_kpi_series, 200, &kpi_series_shape,       "Trend of one KPI"), .params = &tenant_path_shape, .query = &series_query_shape, .tagged = true },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/business/breakdown",    READ,     NULL,                      get_kpi_breakdown, 200, &kpi_breakdown_shape, "One KPI split by dimensions"), .params = &tenant_path_shape, .query = &breakdown_query_shape, .tagged = true },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/dashboard/runs",        READ,     NULL,                      get_runs,       200, &run_list_shape,         "Runs, newest start first"), .params = &tenant_path_shape, .query = &runs_query_shape, .tagged = true },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/runs/{run_id}/events",  READ,     NULL,                      get_run_events, 200, &run_narrative_shape,    "Full event narrative of one run"), .params = &run_path_shape, .tagged = true },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/agents",                READ,     NULL,                      get_agents,     200, &agent_list_shape,       "Agents by name, and how they are doing"), .params = &tenant_path_shape, .query = &agents_query_shape, .tagged = true },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/agents/{agent_name}",   READ,     NULL,                      get_agent,      200, &agent_detail_shape,     "All that is known of an agent"), .params = &agent_path_shape, .tagged = true },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/workflows/{workflow_run_id}", READ, NULL,                    get_workflow,   200, &workflow_shape,         "The runs of a workflow, and whether its steps fit together"), .params = &workflow_path_shape, .tagged = true },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/alerts",                READ,     NULL,                      get_alerts,     200, &alert_list_shape,       "Alerts, newest first"), .params = &tenant_path_shape, .query = &alerts_query_shape, .tagged = true },
    { ROUTE(POST,   "/api/v1/tenants/{slug}/alerts/{alert_id}/acknowledge", MEMBER, NULL,                acknowledge_alert, 200, &alert_shape,    "Say that somebody looks after an alert"), .params = &alert_path_shape, .audit = "alert.acknowledge" },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/rules",                 MEMBER,   NULL,                      get_rules,      200, &alert_rules_shape,      "What a tenant is alerted of"), .params = &tenant_path_shape },
    { ROUTE(PUT,    "/api/v1/tenants/{slug}/rules",                 ADMIN,    &alert_rules_shape,        set_rules,      200, &alert_rules_shape,      "Replace what a tenant is alerted of"), .params = &tenant_path_shape, .audit = "rules.set" },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/retention",             MEMBER,   NULL,                      get_retention,  200, &retention_shape,        "How long a tenant's data is kept"), .params = &tenant_path_shape },
    { ROUTE(PUT,    "/api/v1/tenants/{slug}/retention",             ADMIN,    &retention_shape,          set_retention,  200, &retention_shape,        "Replace how long a tenant's data is kept; what is older is deleted within minutes"), .params = &tenant_path_shape, .audit = "retention.set" },
    { ROUTE(PUT,    "/api/v1/tenants/{slug}/agents/{agent_name}/mute", MEMBER, &mute_set_shape,          change_mute,    200, &mute_state_shape,       "Tell nobody of an agent's alerts for a while"), .params = &agent_path_shape, .audit = "agent.mute" },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/agents/{agent_name}/mute", MEMBER, NULL,                     change_mute,    200, &mute_state_shape,       "Tell of an agent's alerts again"), .params = &agent_path_shape, .audit = "agent.unmute" },
    { ROUTE(GET,    "/api/v1/tenants",                              PLATFORM, NULL,                      get_tenants,    200, &tenant_list_shape,      "All tenants") },
    { ROUTE(POST,   "/api/v1/tenants",                              PLATFORM, &tenant_create_shape,      post_tenant,    201, &tenant_shape,           "Make a tenant"), .audit = "tenant.add" },
    { ROUTE(GET,    "/api/v1/tenants/{slug}",                       READ,     NULL,                      get_tenant,     200, &tenant_plan_shape,      "A tenant, its plan, and what it uses of it"), .params = &tenant_path_shape },
    { ROUTE(PATCH,  "/api/v1/tenants/{slug}",                       PLATFORM, &tenant_patch_shape,       patch_tenant,   200, &tenant_shape,           "Change name and plan of a tenant"), .params = &tenant_path_shape, .audit = "tenant.set" },
    { ROUTE(PATCH,  "/api/v1/tenants/{slug}/agents/{agent_name}",   ADMIN, &agent_patch_shape,        patch_agent,    200, &agent_state_shape,      "Enable or disable an agent"), .params = &agent_path_shape, .audit = "agent.set" },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/agents/{agent_name}",   ADMIN, NULL,                      delete_agent,   200, &agent_deleted_shape,    "Remove an agent; what it reported stays"), .params = &agent_path_shape, .audit = "agent.delete" },
    { ROUTE(POST,   "/api/v1/tenants/{slug}/runs/rebuild",          PLATFORM, NULL,                      post_runs_rebuild, 200, &runs_rebuild_shape,  "Make the states of runs anew from their events, one step"), .params = &tenant_path_shape, .query = &rebuild_query_shape, .audit = "runs.rebuild" },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/keys",                  ADMIN, NULL,                      get_keys,       200, &key_list_shape,         "Keys of a tenant, without their tokens"), .params = &tenant_path_shape },
    { ROUTE(POST,   "/api/v1/tenants/{slug}/keys",                  ADMIN, &key_create_shape,         post_key,       201, &key_created_shape,      "Make a key; its token is shown this once"), .params = &tenant_path_shape, .audit = "key.add" },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/keys/{key_id}",         ADMIN, NULL,                      delete_key,     200, &key_list_shape,         "Revoke a key"), .params = &key_path_shape, .audit = "key.revoke" },
    { ROUTE(POST,   "/api/v1/tenants/{slug}/keys/{key_id}/rotate",  ADMIN, NULL,                      post_key_rotate, 200, &key_refreshed_shape,   "Make a fresh key in place of another, which is good for five more minutes"), .params = &key_path_shape, .audit = "key.rotate" },
    { ROUTE(GET,    "/api/v1/platform/model",                       PLATFORM, NULL,                      get_model,      200, &model_setting_shape,    "The model that holds for the platform") },
    { ROUTE(PUT,    "/api/v1/platform/model",                       PLATFORM, &model_set_shape,          change_model,   200, &model_setting_shape,    "Set the model of the platform"), .audit = "model.set" },
    { ROUTE(DELETE, "/api/v1/platform/model",                       PLATFORM, NULL,                      change_model,   200, &model_setting_shape,    "Unset the model of the platform"), .audit = "model.unset" },
    { ROUTE(GET,    "/api/v1/platform/command-policy",              PLATFORM, NULL,                      get_policy,     200, &policy_setting_shape,   "The command policy that holds for the platform") },
    { ROUTE(PUT,    "/api/v1/platform/command-policy",              PLATFORM, &policy_set_shape,         change_policy,  200, &policy_setting_shape,   "Set the command policy of the platform"), .audit = "policy.set" },
    { ROUTE(DELETE, "/api/v1/platform/command-policy",              PLATFORM, NULL,                      change_policy,  200, &policy_setting_shape,   "Unset the command policy of the platform"), .audit = "policy.unset" },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/model",                 MEMBER, NULL,                      get_model,      200, &model_setting_shape,    "The model that holds for a workspace"), .params = &tenant_path_shape },
    { ROUTE(PUT,    "/api/v1/tenants/{slug}/model",                 ADMIN, &model_set_shape,          change_model,   200, &model_setting_shape,    "Set the model of a workspace"), .params = &tenant_path_shape, .audit = "model.set" },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/model",                 ADMIN, NULL,                      change_model,   200, &model_setting_shape,    "Unset the model of a workspace"), .params = &tenant_path_shape, .audit = "model.unset" },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/command-policy",        MEMBER, NULL,                      get_policy,     200, &policy_setting_shape,   "The command policy that holds for a workspace"), .params = &tenant_path_shape },
    { ROUTE(PUT,    "/api/v1/tenants/{slug}/command-policy",        ADMIN, &policy_set_shape,         change_policy,  200, &policy_setting_shape,   "Set the command policy of a workspace"), .params = &tenant_path_shape, .audit = "policy.set" },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/command-policy",        ADMIN, NULL,                      change_policy,  200, &policy_setting_shape,   "Unset the command policy of a workspace"), .params = &tenant_path_shape, .audit = "policy.unset" },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/agents/{agent_name}/model", MEMBER, NULL,                      get_model,      200, &model_setting_shape,    "The model that holds for an agent"), .params = &agent_path_shape },
    { ROUTE(PUT,    "/api/v1/tenants/{slug}/agents/{agent_name}/model", ADMIN, &model_set_shape,          change_model,   200, &model_setting_shape,    "Set the model of an agent"), .params = &agent_path_shape, .audit = "model.set" },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/agents/{agent_name}/model", ADMIN, NULL,                      change_model,   200, &model_setting_shape,    "Unset the model of an agent"), .params = &agent_path_shape, .audit = "model.unset" },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/agents/{agent_name}/command-policy", MEMBER, NULL,                      get_policy,     200, &policy_setting_shape,   "The command policy that holds for an agent"), .params = &agent_path_shape },
    { ROUTE(PUT,    "/api/v1/tenants/{slug}/agents/{agent_name}/command-policy", ADMIN, &policy_set_shape,         change_policy,  200, &policy_setting_shape,   "Set the command policy of an agent"), .params = &agent_path_shape, .audit = "policy.set" },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/agents/{agent_name}/command-policy", ADMIN, NULL,                      change_policy,  200, &policy_setting_shape,   "Unset the command policy of an agent"), .params = &agent_path_shape, .audit = "policy.unset" },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/audit",                 ADMIN, NULL,                      get_audit,      200, &audit_page_shape,       "Audit log of a tenant, newest first"), .params = &tenant_path_shape, .query = &audit_query_shape },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/audit/verify",          ADMIN, NULL,                      get_audit_verify, 200, &audit_verdict_shape,    "Is the audit log of a tenant as it was written"), .params = &tenant_path_shape },
    { ROUTE(GET,    "/api/v1/platform/audit",                       PLATFORM, NULL,                      get_audit,      200, &audit_page_shape,       "Audit log of the platform, newest first"), .query = &audit_query_shape },
    { ROUTE(GET,    "/api/v1/platform/audit/verify",                PLATFORM, NULL,                      get_audit_verify, 200, &audit_verdict_shape,    "Is the audit log of the platform as it was written") },
    { ROUTE(GET,    "/api/v1/auth/setup",                           OPEN,     NULL,                      get_set_up,     200, &set_up_state_shape,     "Is the first platform admin still to be made") },
    { ROUTE(POST,   "/api/v1/auth/setup",                           OPEN,     &set_up_shape,             post_set_up,    200, &session_answer_shape,   "Make the first platform admin and log in") },
    { ROUTE(POST,   "/api/v1/auth/login",                           OPEN,     &sign_in_shape,             post_sign_in,    200, &session_answer_shape,   "Log in") },
    { ROUTE(POST,   "/api/v1/auth/logout",                          USER,     NULL,                      post_sign_out,   200, &logged_out_shape,       "End the session") },
    { ROUTE(GET,    "/api/v1/auth/me",                              USER,     NULL,                      get_me,         200, &session_answer_shape,   "Who is logged in") },
    { ROUTE(POST,   "/api/v1/auth/password",                        USER,     &password_change_shape,    post_password,  200, &session_answer_shape,   "Change one's own password; one's other sessions end") },
    { ROUTE(GET,    "/api/v1/platform/users",                       PLATFORM, NULL,                      get_users,      200, &user_list_shape,        "All users") },
    { ROUTE(POST,   "/api/v1/platform/users",                       PLATFORM, &user_create_shape,        post_user,      201, &user_shape,             "Make a user"), .audit = "user.add" },
    { ROUTE(PATCH,  "/api/v1/platform/users/{email}",               PLATFORM, &user_patch_shape,         patch_user,     200, &user_shape,             "Change a user's role or password; their sessions end"), .params = &user_path_shape, .audit = "user.set" },
    { ROUTE(DELETE, "/api/v1/platform/users/{email}",               PLATFORM, NULL,                      delete_user,    200, &user_list_shape,        "Remove a user"), .params = &user_path_shape, .audit = "user.remove" },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/users",                 ADMIN, NULL,                      get_tenant_users, 200, &tenant_user_list_shape, "Everybody with a role in the tenant"), .params = &tenant_path_shape },
    { ROUTE(POST,   "/api/v1/tenants/{slug}/users",                 ADMIN, &tenant_user_create_shape, post_tenant_user, 201, &tenant_user_added_shape, "Give somebody a role in the tenant"), .params = &tenant_path_shape, .audit = "role.add" },
    { ROUTE(PATCH,  "/api/v1/tenants/{slug}/users/{email}",         ADMIN, &tenant_user_patch_shape,  patch_tenant_user, 200, &tenant_user_shape,   "Change somebody's role in the tenant; their sessions end"), .params = &tenant_user_path_shape, .audit = "role.set" },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/users/{email}",         ADMIN, NULL,                      delete_tenant_user, 200, &tenant_user_list_shape, "Take somebody's role in the tenant away"), .params = &tenant_user_path_shape, .audit = "role.remove" },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/agents/{agent_name}/document", MEMBER, NULL,                  get_document,   200, &document_shape,         "The newest version of an agent's document"), .params = &agent_path_shape },
    { ROUTE(PUT,    "/api/v1/tenants/{slug}/agents/{agent_name}/document", ADMIN, &document_set_shape,    put_document,   200, &document_shape,         "Set an agent's document: a new version, unless it says the same"), .params = &agent_path_shape, .limit = LIMIT_DOCUMENT, .audit = "document.set" },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/agents/{agent_name}/document/versions", MEMBER, NULL,         get_document_versions, 200, &document_history_shape, "The versions of an agent's document, newest first"), .params = &agent_path_shape, .query = &history_query_shape },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/agents/{agent_name}/document/versions/{version}", MEMBER, NULL, get_document_version, 200, &document_shape,  "One version of an agent's document"), .params = &document_version_path_shape },
    { ROUTE(POST,   "/api/v1/tenants/{slug}/agents/{agent_name}/document/versions/{version}/restore", ADMIN, NULL, post_document_restore, 200, &document_shape, "Make an old version the newest again"), .params = &document_version_path_shape, .audit = "document.restore" },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/agents/{agent_name}/document/diff", MEMBER, NULL,             get_document_diff, 200, &document_diff_shape, "What changed between two versions of an agent's document"), .params = &agent_path_shape, .query = &diff_query_shape },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/secrets",               ADMIN, NULL,                      get_secrets,    200, &secret_list_shape,      "Secrets of a tenant, without their values"), .params = &tenant_path_shape },
    { ROUTE(PUT,    "/api/v1/tenants/{slug}/secrets/{name}",        ADMIN, &secret_set_shape,         put_secret,     200, &secret_shape,           "Set a secret; nobody can read it back"), .params = &secret_path_shape, .audit = "secret.set" },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/secrets/{name}",        ADMIN, NULL,                      delete_secret,  200, &secret_list_shape,      "Remove a secret"), .params = &secret_path_shape, .audit = "secret.rm" },
    { ROUTE(POST,   "/api/v1/platform/vault/rotate",                PLATFORM, NULL,                   post_vault_rotate, 200, &vault_rotated_shape, "Make a new master key, while everything goes on"), .audit = "vault.rotate" },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/webhooks",              ADMIN,    NULL,                      get_webhooks,   200, &webhook_list_shape,     "Webhooks of a tenant"), .params = &tenant_path_shape },
    { ROUTE(POST,   "/api/v1/tenants/{slug}/webhooks",              ADMIN,    &webhook_create_shape,     post_webhook,   201, &webhook_shape,          "Make a webhook; its secret is shown this once"), .params = &tenant_path_shape, .audit = "webhook.add" },
    { ROUTE(PATCH,  "/api/v1/tenants/{slug}/webhooks/{webhook_id}", ADMIN,    &webhook_patch_shape,      patch_webhook,  200, &webhook_shape,          "Change a webhook, switch it on or off, or give it a new secret"), .params = &webhook_path_shape, .audit = "webhook.set" },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/webhooks/{webhook_id}", ADMIN,    NULL,                      delete_webhook, 200, &webhook_list_shape,     "Remove a webhook and its deliveries"), .params = &webhook_path_shape, .audit = "webhook.remove" },
    { ROUTE(POST,   "/api/v1/tenants/{slug}/webhooks/{webhook_id}/test", ADMIN, NULL,                    post_webhook_test, 200, &webhook_tested_shape, "Send a test message at once and tell what came of it"), .params = &webhook_path_shape, .audit = "webhook.test" },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/webhooks/{webhook_id}/deliveries", ADMIN, NULL,              get_deliveries, 200, &delivery_list_shape,    "What was sent to a webhook, newest first"), .params = &webhook_path_shape, .query = &deliveries_query_shape },
    { ROUTE(POST,   "/api/v1/tenants/{slug}/webhooks/{webhook_id}/deliveries/{delivery_id}/retry", ADMIN, NULL, post_delivery_retry, 200, &delivery_list_shape, "Send it again at once"), .params = &delivery_path_shape, .audit = "delivery.retry" },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/values", MEMBER, NULL, get_values, 200, &config_values_shape, "Configuration values of a workspace"), .params = &tenant_path_shape },
    { ROUTE(PUT,    "/api/v1/tenants/{slug}/values/{key}", MEMBER, &value_set_shape, change_value, 200, &config_value_shape, "Set a configuration value of a workspace"), .params = &parameter_path_shape, .audit = "value.set" },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/values/{key}", MEMBER, NULL, change_value, 200, &config_value_shape, "Unset a configuration value of a workspace"), .params = &parameter_path_shape, .audit = "value.unset" },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/agents/{agent_name}/values", MEMBER, NULL, get_values, 200, &config_values_shape, "What holds for each parameter of an agent"), .params = &agent_path_shape },
    { ROUTE(PUT,    "/api/v1/tenants/{slug}/agents/{agent_name}/values/{key}", MEMBER, &value_set_shape, change_value, 200, &config_value_shape, "Set a configuration value of an agent"), .params = &agent_value_path_shape, .audit = "value.set" },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/agents/{agent_name}/values/{key}", MEMBER, NULL, change_value, 200, &config_value_shape, "Unset a configuration value of an agent"), .params = &agent_value_path_shape, .audit = "value.unset" },
    { ROUTE(GET,    "/api/v1/tenants/{slug}/catalog", MEMBER, NULL, get_catalog, 200, &catalog_list_shape, "Who may set and see which parameters"), .params = &tenant_path_shape, .query = &catalog_query_shape },
    { ROUTE(PATCH,  "/api/v1/tenants/{slug}/catalog/{key}", ADMIN, &catalog_patch_shape, patch_catalog, 200, &catalog_parameter_shape, "Change who may set and see a parameter"), .params = &parameter_path_shape, .audit = "catalog.set" },
};
/* clang-format on */

const size_t n_routes = COUNT_OF(routes);
