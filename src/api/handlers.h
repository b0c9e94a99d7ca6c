/* handlers.h - the handlers that the routes name, one file a noun.
 *
 * Layer: api.
 */
#pragma once
#include "api/route.h"

route_fn get_health;            /* health.c */
route_fn get_limits;            /* health.c */
route_fn get_openapi;           /* openapi.c */
route_fn post_telemetry_batch;  /* telemetry.c */
route_fn post_telemetry;        /* telemetry.c */
route_fn post_business;         /* business.c */
route_fn post_llm;              /* llm.c */
route_fn post_register;         /* register.c */
route_fn post_heartbeat;        /* heartbeat.c */
route_fn get_agent_model;       /* guidance.c */
route_fn get_agent_policy;      /* guidance.c */
route_fn get_model;             /* guidance.c */
route_fn change_model;          /* guidance.c */
route_fn get_policy;            /* guidance.c */
route_fn change_policy;         /* guidance.c */
route_fn post_runs_rebuild;     /* runs.c */
route_fn get_runs;              /* runs.c */
route_fn get_run_events;        /* runs.c */
route_fn post_tenant;           /* tenants.c */
route_fn patch_tenant;          /* tenants.c */
route_fn patch_agent;           /* agents.c */
route_fn delete_agent;          /* agents.c */
route_fn get_tenants;           /* tenants.c */
route_fn post_key;              /* keys.c */
route_fn get_keys;              /* keys.c */
route_fn post_refresh_key;      /* keys.c */
route_fn delete_key;            /* keys.c */
route_fn get_audit;             /* audit.c */
route_fn get_audit_verify;      /* audit.c */
route_fn get_secrets;           /* secrets.c */
route_fn put_secret;            /* secrets.c */
route_fn delete_secret;         /* secrets.c */
route_fn post_vault_rotate;     /* secrets.c */
route_fn get_agent_document;    /* documents.c */
route_fn get_document;          /* documents.c */
route_fn put_document;          /* documents.c */
route_fn get_document_versions; /* documents.c */
route_fn get_document_version;  /* documents.c */
route_fn get_document_diff;     /* documents.c */
route_fn post_document_restore; /* documents.c */
route_fn get_portal;            /* portal.c */
route_fn get_portal_asset;      /* portal.c */
route_fn get_prices;            /* prices.c */
route_fn post_price;            /* prices.c */
route_fn delete_price;          /* prices.c */
route_fn import_prices;         /* prices.c */
route_fn get_metrics;           /* metrics.c */
route_fn get_export_events;     /* export.c */
route_fn get_export_business;   /* export.c */
route_fn get_export_llm;        /* export.c */
route_fn get_kpi_catalog;       /* kpis.c */
route_fn get_kpi_summary;       /* kpis.c */
route_fn get_kpi_series;        /* kpis.c */
route_fn get_kpi_breakdown;     /* kpis.c */
route_fn get_agents;            /* fleet.c */
route_fn get_agent;             /* fleet.c */
route_fn get_workflow;          /* fleet.c */
route_fn get_set_up;            /* log_in.c */
route_fn post_set_up;           /* log_in.c */
route_fn post_log_in;           /* log_in.c */
route_fn post_log_out;          /* log_in.c */
route_fn get_me;                /* log_in.c */
route_fn post_password;         /* own_password.c */
route_fn get_users;             /* users.c */
route_fn post_user;             /* users.c */
route_fn patch_user;            /* users.c */
route_fn delete_user;           /* users.c */
route_fn get_tenant_users;      /* tenant_users.c */
route_fn post_tenant_user;      /* tenant_users.c */
route_fn patch_tenant_user;     /* tenant_users.c */
route_fn delete_tenant_user;    /* tenant_users.c */
