/* features.c - every feature, in the order in which they start; they stop in reverse. */
#include <stddef.h>

#include "app/assemble.h"
#include "base/base.h"
#include "features/features.h"
#include "features/metrics.h"

const struct feature *const features[] = {
    &access_feature,    &vault_feature,
    &users_feature,     &audit_feature,
    &live_feature,      &agents_feature,
    &events_feature,    &kpis_feature,
    &cost_feature,      &otlp_feature,
    &webhooks_feature,  &alerts_feature,
    &fleet_feature,     &export_feature,
    &retention_feature, &scrape_feature,
    &mcp_feature,       &portal_feature,
    &status_feature,    &cluster_feature,
    &oidc_feature,      NULL,
};

#define METRIC_ROW(id, name, labels, help) { name, labels, help },
static const struct metric_row metrics[] = { FEATURE_METRIC_MAP(METRIC_ROW) };
#undef METRIC_ROW

void features_register_metrics(void)
{
    metric_register(metrics, COUNT_OF(metrics));
}
