/* shapes.c - every shape there is. */
#include "app/shapes.h"

#include "api/answers.h"
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

/* The place in this list is what a fuzzing corpus picks a shape by: add at the end. */
#define BODY_SHAPES                                                                                \
    &telemetry_event_shape, &telemetry_batch_shape, &business_telemetry_shape,                     \
        &business_breakdown_shape, &llm_usage_shape, &agent_register_shape,                        \
        &business_kpi_decl_shape, &io_field_shape, &config_schema_decl_shape,                      \
        &config_param_decl_shape, &tenant_create_shape, &key_create_shape, &tenant_patch_shape,    \
        &agent_patch_shape, &model_set_shape, &policy_set_shape, &document_set_shape,              \
        &price_create_shape, &price_import_shape, &secret_set_shape, &sign_in_shape,               \
        &set_up_shape, &password_change_shape, &user_create_shape, &user_patch_shape,              \
        &tenant_user_create_shape, &tenant_user_patch_shape, &webhook_create_shape,                \
        &webhook_patch_shape, &value_set_shape, &catalog_patch_shape, &mute_set_shape,             \
        &alert_rules_shape, &kpi_rule_shape, &budget_rule_shape, &retention_shape

#define QUERY_SHAPES                                                                               \
    &agent_query_shape, &heartbeat_query_shape, &runs_query_shape, &summary_query_shape,           \
        &series_query_shape, &breakdown_query_shape, &usage_query_shape, &rebuild_query_shape,     \
        &export_query_shape, &audit_query_shape, &history_query_shape, &diff_query_shape,          \
        &prices_query_shape, &agents_query_shape, &deliveries_query_shape, &catalog_query_shape,   \
        &alerts_query_shape

#define PATH_SHAPES                                                                                \
    &tenant_path_shape, &run_path_shape, &agent_path_shape, &workflow_path_shape, &key_path_shape, \
        &document_version_path_shape, &price_path_shape, &secret_path_shape, &user_path_shape,     \
        &tenant_user_path_shape, &webhook_path_shape, &delivery_path_shape, &parameter_path_shape, \
        &agent_value_path_shape, &alert_path_shape

#define ANSWER_SHAPES                                                                              \
    &event_verdict_shape, &batch_result_shape, &batch_verdict_shape, &run_summary_shape,           \
        &stored_event_shape, &run_narrative_shape, &run_listed_shape, &run_list_shape,             \
        &breakdown_row_shape, &business_verdict_shape, &llm_verdict_shape,                         \
        &agent_registered_shape, &agent_model_shape, &command_policy_shape, &agent_document_shape, \
        &key_refreshed_shape, &heartbeat_answer_shape, &health_answer_shape, &limits_answer_shape, \
        &error_answer_shape, &tenant_shape, &tenant_plan_shape, &tenant_list_shape,                \
        &key_created_shape, &key_shape, &key_list_shape, &agent_state_shape, &agent_deleted_shape, \
        &runs_rebuild_shape, &model_setting_shape, &policy_setting_shape, &audit_item_shape,       \
        &audit_page_shape, &audit_verdict_shape, &document_shape, &document_version_shape,         \
        &document_history_shape, &document_diff_shape, &price_shape, &price_list_shape,            \
        &price_imported_shape, &business_line_shape, &llm_line_shape, &kpi_entry_shape,            \
        &kpi_catalog_shape, &kpi_summary_row_shape, &kpi_summary_shape, &kpi_point_shape,          \
        &kpi_series_shape, &kpi_breakdown_shape, &secret_shape, &secret_list_shape,                \
        &vault_rotated_shape, &agent_run_shape, &agent_listed_shape, &agent_list_shape,            \
        &agent_version_shape, &run_counts_shape, &agent_detail_shape, &type_mismatch_shape,        \
        &workflow_step_shape, &workflow_link_shape, &workflow_shape, &set_up_state_shape,          \
        &tenant_membership_shape, &session_answer_shape, &logged_out_shape, &user_shape,           \
        &user_list_shape, &tenant_user_shape, &tenant_user_added_shape, &tenant_user_list_shape,   \
        &usage_sums_shape, &usage_part_shape, &usage_answer_shape, &webhook_shape,                 \
        &webhook_list_shape, &delivery_shape, &delivery_list_shape, &webhook_tested_shape,         \
        &config_value_shape, &config_values_shape, &catalog_parameter_shape, &catalog_list_shape,  \
        &alert_shape, &alert_list_shape, &mute_state_shape

const struct shape *const body_shapes[] = { BODY_SHAPES, NULL };
const struct shape *const query_shapes[] = { QUERY_SHAPES, NULL };
const struct shape *const path_shapes[] = { PATH_SHAPES, NULL };
const struct shape *const answer_shapes[] = { ANSWER_SHAPES, NULL };
const struct shape *const all_shapes[] = { BODY_SHAPES, QUERY_SHAPES, PATH_SHAPES, ANSWER_SHAPES,
                                           NULL };
