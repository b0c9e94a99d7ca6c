/* llm.c - SQL of LLM usage. */
#include "store/llm.h"

#include "contract/llm.h"
#include "db/db.h"

/* clang-format off */
static const struct db_query put_usage = {
    .sql = "INSERT INTO llm_usage (tenant_id, timestamp, agent_id, run_id, model, received_at,"
           " input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, calls,"
           " agent_version, workflow_run_id)"
           " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
           " ON CONFLICT (tenant_id, timestamp, agent_id, run_id, model) DO UPDATE SET"
           " received_at = excluded.received_at, input_tokens = excluded.input_tokens,"
           " output_tokens = excluded.output_tokens,"
           " cache_read_tokens = excluded.cache_read_tokens,"
           " cache_write_tokens = excluded.cache_write_tokens, calls = excluded.calls,"
           " agent_version = excluded.agent_version, workflow_run_id = excluded.workflow_run_id"
           " WHERE (excluded.input_tokens, excluded.output_tokens, excluded.cache_read_tokens,"
           " excluded.cache_write_tokens, excluded.calls, excluded.agent_version)"
           " <> (llm_usage.input_tokens, llm_usage.output_tokens, llm_usage.cache_read_tokens,"
           " llm_usage.cache_write_tokens, llm_usage.calls, llm_usage.agent_version)"
           " OR excluded.workflow_run_id IS DISTINCT FROM llm_usage.workflow_run_id",
    .n_args = 13,
};
/* clang-format on */

int store_llm_put(struct db *db, const struct report_place *place, const struct llm_usage *u,
                  struct error *err)
{
    const struct db_value args[] = {
        db_int(place->tenant_id),
        db_int(u->timestamp),
        db_int(place->agent_id),
        db_text(u->run_id),
        db_text(u->model),
        db_int(place->received_at),
        db_int(u->input_tokens),
        db_int(u->output_tokens),
        db_int(u->cache_read_tokens),
        db_int(u->cache_write_tokens),
        db_int(u->calls),
        db_text(u->agent_version),
        db_text(u->workflow_run_id),
    };

    return db_exec(db, &put_usage, args, NULL, NULL, err);
}
