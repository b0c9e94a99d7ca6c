/* run_facets_store.c - SQL of what runs can be filtered by.
 *
 * Each statement scans the end of one range of an index: of runs_start, runs_agent or
 * runs_workflow. The filters are not in it: a run that one filter leaves out still counts for that
 * filter's values.
 */
#include "features/events/runs.h"

#include "db/db.h"
#include "features/events/shapes.h"

/* clang-format off */
#define COLUMNS                                                                                    \
    "tenant_id, agent_id, start_at, agent_version, error_type, workflow_run_id,"                   \
    " CASE WHEN closing_at IS NULL THEN -1 ELSE closing_event END AS closed_by"
/* Only the beginning of a text is searched, as in the list of runs. */
#define TEXTS                                                                                      \
    ", SUBSTR(error_message, 1, 1000) AS error_message,"                                           \
    " SUBSTR(closing_message, 1, 1000) AS closing_message,"                                        \
    " SUBSTR(step_message, 1, 1000) AS step_message"
#define FACETS(columns, has_part, lane)                                                            \
    "SELECT r.start_at, " has_part ", r.closed_by, a.agent_name, r.agent_version, r.error_type,"   \
    " r.workflow_run_id FROM (SELECT " columns " FROM runs"                                        \
    " WHERE tenant_id = $1 AND start_at >= $2 AND start_at < $3" lane                              \
    " ORDER BY start_at DESC LIMIT $4) r"                                                          \
    " JOIN agents a ON a.tenant_id = $1 AND a.agent_id = r.agent_id"

#define NTH(lane)                                                                                  \
    "SELECT start_at FROM runs WHERE tenant_id = $1 AND start_at >= $2 AND start_at < $3" lane     \
    " ORDER BY start_at DESC LIMIT 1 OFFSET $4"
/* $5 is the version, $6 the error type (empty: it failed without one), $7 the agent (0: any), as in
 * the list of runs. */
#define STATUSES(lane)                                                                             \
    "SELECT closed_by, COUNT(*) AS runs FROM (SELECT " COLUMNS " FROM runs"                        \
    " WHERE tenant_id = $1 AND start_at >= $2 AND start_at < $3" lane                              \
    " ORDER BY start_at DESC LIMIT $4) newest"                                                     \
    " WHERE (CAST($5 AS TEXT) IS NULL OR agent_version = $5)"                                      \
    " AND (CAST($6 AS TEXT) IS NULL OR (COALESCE(error_type, '') = $6 AND closed_by = 2))"         \
    " AND (CAST($7 AS BIGINT) = 0 OR agent_id = $7) GROUP BY closed_by"

#define LIKE(text) "LOWER(" text ") LIKE LOWER(CAST($5 AS TEXT)) ESCAPE '!'"
#define HAS_PART                                                                                   \
    "CASE WHEN " LIKE("a.agent_name") " OR " LIKE("r.error_type") " OR " LIKE("r.error_message")   \
    " OR " LIKE("r.closing_message") " OR " LIKE("r.step_message") " THEN 1 ELSE 0 END"
#define ALL         ""
#define OF_AGENT(n)    " AND agent_id = $" #n
#define OF_WORKFLOW(n) " AND workflow_run_id = $" #n

DB_QUERY(facets, FACETS(COLUMNS, "1", ALL));
DB_QUERY(facets_of_agent, FACETS(COLUMNS, "1", OF_AGENT(5)));
DB_QUERY(facets_of_workflow, FACETS(COLUMNS, "1", OF_WORKFLOW(5)));

DB_QUERY(found, FACETS(COLUMNS TEXTS, HAS_PART, ALL));
DB_QUERY(found_of_agent, FACETS(COLUMNS TEXTS, HAS_PART, OF_AGENT(6)));
DB_QUERY(found_of_workflow, FACETS(COLUMNS TEXTS, HAS_PART, OF_WORKFLOW(6)));

DB_QUERY(nth, NTH(ALL));
DB_QUERY(nth_of_agent, NTH(OF_AGENT(5)));
DB_QUERY(nth_of_workflow, NTH(OF_WORKFLOW(5)));

DB_QUERY(statuses, STATUSES(ALL));
DB_QUERY(statuses_of_agent, STATUSES(OF_AGENT(8)));
DB_QUERY(statuses_of_workflow, STATUSES(OF_WORKFLOW(8)));
/* clang-format on */

struct reading {
    void (*each)(void *ctx, const struct run_facets_row *row);
    void *ctx;
};

static int status_of(int64_t closing_event)
{
    if (closing_event < 0)
        return RUN_IN_PROGRESS;
    return closing_event == EVENT_FAILED ? RUN_FAILED : RUN_COMPLETED;
}

static struct str text_of(const struct db_row *row, unsigned column)
{
    return db_is_null(row, column) ? STR_NULL : db_get_text(row, column);
}

static bool read_row(void *ctx, const struct db_row *row)
{
    const struct reading *r = ctx;
    const struct run_facets_row run = { .start_at = db_get_int(row, 0),
                                        .has_part = db_get_int(row, 1) != 0,
                                        .status = status_of(db_get_int(row, 2)),
                                        .agent_name = text_of(row, 3),
                                        .agent_version = text_of(row, 4),
                                        .error_type = text_of(row, 5),
                                        .workflow_run_id = text_of(row, 6) };

    r->each(r->ctx, &run);
    return true;
}

/* The statements that read all runs, an agent's and a workflow's. */
static const struct db_query *const counting[] = { &facets, &facets_of_agent, &facets_of_workflow };
static const struct db_query *const searching[] = { &found, &found_of_agent, &found_of_workflow };
static const struct db_query *const skipping[] = { &nth, &nth_of_agent, &nth_of_workflow };
static const struct db_query *const grouping[] = { &statuses, &statuses_of_agent,
                                                   &statuses_of_workflow };

static int lane_of(const struct run_facets_span *span)
{
    return !str_is_null(span->workflow_run_id) ? 2 : span->agent_id != 0;
}

/* Adds the parameter that the statements of an agent or a workflow end with. */
static unsigned add_lane(struct db_value *values, unsigned n, const struct run_facets_span *span)
{
    if (lane_of(span) == 1)
        values[n++] = db_int(span->agent_id);
    if (lane_of(span) == 2)
        values[n++] = db_text(span->workflow_run_id);
    return n;
}

int store_run_facets(struct db *db, const struct run_facets_span *span,
                     void (*each)(void *ctx, const struct run_facets_row *row), void *ctx,
                     struct error *err)
{
    const bool search = !str_is_null(span->pattern);
    const struct db_query *query = (search ? searching : counting)[lane_of(span)];
    struct reading r = { each, ctx };
    struct db_value values[6] = { db_int(span->tenant_id), db_int(span->since), db_int(span->until),
                                  db_int(span->limit) };
    unsigned n = 4;

    if (search)
        values[n++] = db_text(span->pattern);
    n = add_lane(values, n, span);
    return db_exec(db, query, (struct db_args){ values, n }, read_row, &r, err);
}

/* When the nth newest run of the span started, whatever its limit; 0 is the newest. TIME_NULL:
 * there are fewer. */
static int find_nth(struct db *db, const struct run_facets_span *span, int64_t nth_newest,
                    int64_t *ret, struct error *err)
{
    struct db_value values[5] = { db_int(span->tenant_id), db_int(span->since), db_int(span->until),
                                  db_int(nth_newest) };
    const unsigned n = add_lane(values, 4, span);

    *ret = TIME_NULL;
    return db_exec(db, skipping[lane_of(span)], (struct db_args){ values, n }, db_read_int, ret,
                   err);
}

int store_run_facets_bound(struct db *db, struct run_facets_span *span, bool *ret_cut,
                           struct error *err)
{
    int64_t beyond, newest;

    if (find_nth(db, span, span->limit, &beyond, err) != 0)
        return -1;
    *ret_cut = beyond != TIME_NULL;
    if (!*ret_cut)
        return 0;
    if (find_nth(db, span, 0, &newest, err) != 0)
        return -1;
    span->since = beyond == newest ? beyond : beyond + 1;
    return 0;
}

static bool read_status(void *ctx, const struct db_row *row)
{
    ((int64_t *)ctx)[status_of(db_get_int(row, 0))] += db_get_int(row, 1);
    return true;
}

int store_run_statuses(struct db *db, const struct run_facets_span *span,
                       const struct run_statuses_filter *filter, int64_t ret[N_RUN_STATUSES],
                       struct error *err)
{
    struct db_value values[8] = { db_int(span->tenant_id),
                                  db_int(span->since),
                                  db_int(span->until),
                                  db_int(span->limit),
                                  db_text(filter->agent_version),
                                  db_text(filter->error_type),
                                  db_int(filter->agent_id) };
    const unsigned n = add_lane(values, 7, span);

    for (int i = 0; i < N_RUN_STATUSES; i++)
        ret[i] = 0;
    return db_exec(db, grouping[lane_of(span)], (struct db_args){ values, n }, read_status, ret,
                   err);
}
