/* features.h - the features that app/features.c lists, each defined in its folder's feature.c. */
#pragma once
struct feature;

extern const struct feature access_feature;
extern const struct feature agents_feature;
extern const struct feature alerts_feature;
extern const struct feature audit_feature;
extern const struct feature cluster_feature;
extern const struct feature cost_feature;
extern const struct feature events_feature;
extern const struct feature export_feature;
extern const struct feature fleet_feature;
extern const struct feature kpis_feature;
extern const struct feature live_feature;
extern const struct feature mcp_feature;
extern const struct feature oidc_feature;
extern const struct feature otlp_feature;
extern const struct feature portal_feature;
extern const struct feature retention_feature;
extern const struct feature scrape_feature;
extern const struct feature second_factor_feature;
extern const struct feature status_feature;
extern const struct feature vault_feature;
extern const struct feature webhooks_feature;
