/* features.h - the features that app/features.c lists, each defined in its folder's feature.c. */
#pragma once
struct feature;

extern const struct feature access_feature, agents_feature, alerts_feature, audit_feature,
    cluster_feature, cost_feature, events_feature, export_feature, fleet_feature, kpis_feature,
    live_feature, mcp_feature, oidc_feature, otlp_feature, portal_feature, retention_feature,
    scrape_feature, status_feature, users_feature, vault_feature, webhooks_feature;
