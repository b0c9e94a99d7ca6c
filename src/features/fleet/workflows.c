/* workflows.c - reads the runs of a workflow, and makes a graph of them, by declared inputs and
 * outputs and by time. */
#include "api/call.h"
#include "base/map.h"
#include "db/db.h"
#include "features/access/registry.h"
#include "features/agents/shapes.h"
#include "features/events/shapes.h"
#include "features/fleet/reads.h"
#include "features/fleet/shapes.h"
#include "features/fleet/store.h"
#include "shape/rows.h"

/* Where the declarations of agents are read. */
struct workflow_source {
    struct db *db;
    int64_t tenant_id;
    struct arena *arena;
};

enum {
    LOOKUPS_MAX = 1000000, /* agents may declare very many inputs: a tenth of a second */
    LINKS_MAX = 5000,
};

/* An agent of the workflow, and what it declared. */
struct step_agent {
    int64_t agent_id;
    struct fleet_contract contract;
    struct map outputs; /* key -> struct io_field */
};

struct step {
    const struct workflow_run *run;
    struct step_agent *agent;
    int64_t start, end; /* of an open run: its latest event */
    bool failed;
    const struct step_agent *taken_by; /* the agent whose run took an output of it last */
    size_t link;                       /* that leads from here to the run being linked ... */
    const struct step *link_to;        /* ... which is this one */
};

struct making {
    const struct workflow_source *source;
    struct map agents; /* agent_id -> struct step_agent */
    struct step *steps;
    struct rows links;  /* of struct workflow_link; while a run is linked, one more than the most */
    struct rows *given; /* for each link: of struct str, what it provides */
    size_t n_lookups;
    bool cut; /* a run has more links than there is room for */
};

/* The agent of the workflow, a new one if need be. */
static struct step_agent *find_agent(struct making *m, int64_t agent_id)
{
    struct step_agent *agent =
        map_get(&m->agents, str_from((const char *)&agent_id, sizeof(agent_id)));

    if (agent == NULL) {
        agent = ARENA_NEW(m->source->arena, struct step_agent);
        agent->agent_id = agent_id;
        map_init(&agent->outputs);
        (void)map_put(&m->agents, str_from((const char *)&agent->agent_id, sizeof(agent_id)),
                      agent);
    }
    return agent;
}

/* What all agents of the workflow declared. */
static int load_contracts(struct making *m, struct error *err)
{
    const struct workflow_source *source = m->source;
    int64_t *ids = ARENA_ARRAY(source->arena, int64_t, m->agents.n + 1);
    struct fleet_contract *contracts;
    const struct step_agent *each;
    struct list wanted = { ids, 0 }, found;
    size_t at = 0;

    while ((each = map_next(&m->agents, &at)) != NULL)
        ids[wanted.n++] = each->agent_id;
    if (fleet_contracts(source->db, source->tenant_id, &wanted, source->arena, &found, err) != 0)
        return -1;
    contracts = found.items;
    for (size_t i = 0; i < found.n; i++) {
        struct step_agent *agent = find_agent(m, contracts[i].agent_id);
        struct io_field *fields = contracts[i].outputs.items;

        agent->contract = contracts[i];
        for (size_t j = 0; j < contracts[i].outputs.n; j++)
            (void)map_put(&agent->outputs, fields[j].key, &fields[j]);
    }
    return 0;
}

static bool types_match(const struct io_field *output, const struct io_field *input)
{
    return str_eq_c(input->type, "any") || str_eq_c(output->type, "any") ||
           str_eq(output->type, input->type);
}

/* How well a step suits as the source of an input; 0: it does not output it. */
static int rank(const struct step *from, const struct step *to, const struct io_field *input)
{
    const struct io_field *output = map_get(&from->agent->outputs, input->key);

    if (output == NULL)
        return 0;
    return 1 + 4 * types_match(output, input) + 2 * !from->failed + (from->taken_by != to->agent);
}

/* The step that an input comes from; NULL: no step that had ended outputs it. */
static struct step *find_source(struct making *m, size_t to, const struct io_field *input)
{
    struct step *steps = m->steps, *best = NULL;
    int high = 0, r;

    for (size_t i = to; i-- > 0;) {
        if (steps[i].end > steps[to].start)
            continue;
        m->n_lookups++;
        r = rank(&steps[i], &steps[to], input);
        if (r > high) {
            high = r;
            best = &steps[i];
        }
    }
    return best;
}

static struct workflow_step *step_of(const struct step *step, struct arena *arena)
{
    struct workflow_step *made = ARENA_NEW(arena, struct workflow_step);

    *made = (struct workflow_step){ step->run->run_id, step->run->run.agent_name };
    return made;
}

/* The link between two steps, a new one if need be; its index. */
static size_t link_steps(struct making *m, struct step *from, const struct step *to)
{
    struct arena *arena = m->source->arena;
    struct workflow_link *link;

    if (from->link_to == to)
        return from->link;
    link = rows_add(&m->links);
    link->from = step_of(from, arena);
    link->to = step_of(to, arena);
    from->link_to = to;
    from->link = m->links.n - 1;
    m->given[from->link] = (struct rows){ .arena = arena, .size = sizeof(struct str) };
    return from->link;
}

/* The runs that ended before this one began, and after which no other of them began. */
static void link_by_time(struct making *m, size_t to)
{
    struct step *steps = m->steps;
    int64_t latest = INT64_MIN;

    for (size_t i = 0; i < to; i++)
        if (steps[i].end <= steps[to].start && steps[i].start > latest)
            latest = steps[i].start;
    for (size_t i = 0; i < to && m->links.n <= LINKS_MAX; i++)
        if (steps[i].end <= steps[to].start && (steps[i].end > latest || steps[i].start == latest))
            (void)link_steps(m, &steps[i], &steps[to]);
}

/* Did any step that had ended before this one declare outputs? */
static bool anything_given(const struct making *m, size_t to)
{
    for (size_t i = 0; i < to; i++)
        if (m->steps[i].end <= m->steps[to].start && m->steps[i].agent->contract.outputs.n > 0)
            return true;
    return false;
}

/* Links the step with the sources of its inputs; the problems of all inputs are in *ret. */
static void link_by_inputs(struct making *m, size_t to, struct workflow_link *ret)
{
    const struct list *inputs = &m->steps[to].agent->contract.inputs;
    const struct io_field *fields = inputs->items;
    struct arena *arena = m->source->arena;
    struct str *missing = ARENA_ARRAY(arena, struct str, inputs->n + 1);
    struct type_mismatch *mismatched = ARENA_ARRAY(arena, struct type_mismatch, inputs->n + 1);
    size_t n_missing = 0, n_mismatched = 0;

    for (size_t i = 0; i < inputs->n && m->links.n <= LINKS_MAX; i++) {
        struct step *from = find_source(m, to, &fields[i]);
        const struct io_field *output =
            from == NULL ? NULL : map_get(&from->agent->outputs, fields[i].key);

        if (from != NULL && types_match(output, &fields[i]))
            *(struct str *)rows_add(&m->given[link_steps(m, from, &m->steps[to])]) = fields[i].key;
        else if (from != NULL && fields[i].required) {
            (void)link_steps(m, from, &m->steps[to]);
            mismatched[n_mismatched++] =
                (struct type_mismatch){ fields[i].key, output->type, fields[i].type };
        } else if (fields[i].required)
            missing[n_missing++] = fields[i].key;
    }
    ret->missing = (struct list){ missing, n_missing };
    ret->mismatched = (struct list){ mismatched, n_mismatched };
    ret->compatible = (struct opt_bool){ true, n_missing + n_mismatched == 0 };
}

/* All links to the step, or none: some of them would tell too little of its inputs. */
static void link_step(struct making *m, size_t to)
{
    const size_t before = m->links.n;
    struct workflow_link check = { .missing = { .items = m->steps }, /* an empty list is not NULL */
                                   .mismatched = { .items = m->steps } };
    struct workflow_link *links;

    if (m->steps[to].agent->contract.inputs.n > 0 && anything_given(m, to))
        link_by_inputs(m, to, &check);
    if (m->links.n == before)
        link_by_time(m, to);
    if (m->links.n > LINKS_MAX) {
        m->links.n = before;
        m->cut = true;
        return;
    }
    links = m->links.items;
    for (size_t i = before; i < m->links.n; i++) {
        links[i].compatible = check.compatible;
        links[i].missing = check.missing;
        links[i].mismatched = check.mismatched;
        links[i].provides = (struct list){ m->given[i].items, m->given[i].n };
        if (links[i].provides.items == NULL)
            links[i].provides.items = m->steps;
    }
    for (size_t i = 0; i < to; i++)
        if (m->steps[i].link_to == &m->steps[to])
            m->steps[i].taken_by = m->steps[to].agent;
}

static int prepare(struct making *m, const struct list *list, struct error *err)
{
    const struct workflow_run *runs = list->items;

    for (size_t i = 0; i < list->n; i++) {
        struct run_summary summary = { .run_id = runs[i].run_id };

        run_state_summary(&runs[i].run.state, &summary);
        m->steps[i] = (struct step){
            .run = &runs[i],
            .start = summary.started_at,
            .end = summary.ended_at == TIME_NULL ? summary.last_event_at : summary.ended_at,
            .failed = str_eq_c(summary.status, run_status_names[RUN_FAILED]),
        };
        m->steps[i].agent = find_agent(m, runs[i].agent_id);
    }
    return load_contracts(m, err);
}

/* The links between runs (of struct workflow_run, by start) as struct workflow_link, in the order
 * of the runs that they lead to. *ret_cut: those to the latest runs are left out; of a run, all are
 * listed or none.
 *
 * A run follows the runs whose agents output what its own agent requires: for each input the latest
 * that had ended when it began, rather one that no run of the same agent took yet. A run that gets
 * nothing that way follows those that ended before it began and after which no other of them began:
 * runs that overlap are parallel. */
static int workflow_link_runs(const struct workflow_source *source, const struct list *runs,
                              struct list *ret, bool *ret_cut, struct error *err)
{
    struct making m = { .source = source,
                        .links = { .arena = source->arena, .size = sizeof(struct workflow_link) } };
    struct step_agent *agent;
    size_t linked = 1, at = 0;
    int status;

    m.steps = ARENA_ARRAY(source->arena, struct step, runs->n + 1);
    m.given = ARENA_ARRAY(source->arena, struct rows, LINKS_MAX + 1);
    map_init(&m.agents);
    status = prepare(&m, runs, err);
    while (status == 0 && linked < runs->n && m.n_lookups < LOOKUPS_MAX && !m.cut)
        link_step(&m, linked++);
    *ret_cut = m.cut || linked < runs->n;
    *ret = (struct list){ m.links.items != NULL ? m.links.items : m.steps, m.links.n };
    while ((agent = map_next(&m.agents, &at)) != NULL)
        map_done(&agent->outputs);
    map_done(&m.agents);
    return status;
}

/* One failed run makes the workflow failed, even while others are running. */
static void summarize(const struct list *list, struct arena *arena, struct workflow *ret)
{
    struct run_summary *runs = ARENA_ARRAY(arena, struct run_summary, list->n);
    const struct workflow_run *rows = list->items;
    enum run_status status = RUN_COMPLETED;
    bool open = false;

    ret->ended_at = TIME_NULL;
    for (size_t i = 0; i < list->n; i++) {
        runs[i].run_id = rows[i].run_id;
        runs[i].agent_name = rows[i].run.agent_name;
        run_state_summary(&rows[i].run.state, &runs[i]);
        open |= runs[i].ended_at == TIME_NULL;
        if (str_eq_c(runs[i].status, run_status_names[RUN_FAILED]))
            status = RUN_FAILED;
        if (runs[i].ended_at > ret->ended_at)
            ret->ended_at = runs[i].ended_at;
    }
    if (open) {
        status = status == RUN_FAILED ? RUN_FAILED : RUN_IN_PROGRESS;
        ret->ended_at = TIME_NULL;
    }
    ret->status = str_of(run_status_names[status]);
    ret->started_at = runs[0].started_at;
    ret->runs = (struct list){ runs, list->n };
}

/* Sums up the agents of one workflow, a list of struct workflow_agent in the order of their first
 * runs. */
static void complete(const struct list *found, struct arena *arena, struct workflow_listed *one)
{
    const struct workflow_agent *agents = found->items;
    struct str *names;
    int64_t open = 0;

    names = ARENA_ARRAY(arena, struct str, WORKFLOW_AGENTS_MAX);
    one->ended_at = TIME_NULL;
    for (size_t i = 0; i < found->n; i++) {
        if (i < WORKFLOW_AGENTS_MAX)
            names[i] = agents[i].agent_name;
        one->runs += agents[i].runs;
        one->failed += agents[i].failed;
        open += agents[i].open;
        if (agents[i].last_at > one->ended_at)
            one->ended_at = agents[i].last_at;
    }
    one->agents =
        (struct list){ names, found->n < WORKFLOW_AGENTS_MAX ? found->n : WORKFLOW_AGENTS_MAX };
    if (open > 0)
        one->ended_at = TIME_NULL;
    one->truncated = one->runs == WORKFLOW_RUNS_MAX;
    one->status = str_of(run_status_names[one->failed > 0 ? RUN_FAILED
                                          : open > 0      ? RUN_IN_PROGRESS
                                                          : RUN_COMPLETED]);
}

/* Makes the status of a workflow whose first runs are listed that of its newest runs, too. */
static int cover_newest(const struct workflow_source *source, struct workflow *ret,
                        struct error *err)
{
    struct workflow_listed newest = { .workflow_run_id = ret->workflow_run_id };
    const char *failed = run_status_names[RUN_FAILED];
    struct list agents;
    bool open;

    if (workflow_agents_of(source->db, source->tenant_id, newest.workflow_run_id, source->arena,
                           &agents, err) != 0)
        return -1;
    complete(&agents, source->arena, &newest);
    open = ret->ended_at == TIME_NULL || newest.ended_at == TIME_NULL;
    if (open)
        ret->ended_at = TIME_NULL;
    else if (newest.ended_at > ret->ended_at)
        ret->ended_at = newest.ended_at;
    if (str_eq_c(newest.status, failed))
        ret->status = newest.status;
    else if (!str_eq_c(ret->status, failed))
        ret->status = str_of(run_status_names[open ? RUN_IN_PROGRESS : RUN_COMPLETED]);
    return 0;
}

static int load_workflow(struct api_call *call, struct db *db, struct error *err)
{
    const struct workflow_source source = { db, call->tenant_id, call->arena };
    const struct workflow_path *path = call->params;
    struct workflow *ret = call->answer;
    struct workflow_runs found;

    if (workflow_runs_of(db, call->tenant_id, path->workflow_run_id, call->arena, &found, err) != 0)
        return -1;
    if (found.runs.n == 0)
        return err_set(err, ERR_NOT_FOUND, "There is no workflow '%.*s' in tenant '%.*s'",
                       STR_ARG(path->workflow_run_id), STR_ARG(call->tenant->slug));
    *ret = (struct workflow){ .workflow_run_id = path->workflow_run_id };
    summarize(&found.runs, call->arena, ret);
    if (found.more && cover_newest(&source, ret, err) != 0)
        return -1;
    ret->truncated = found.more;
    return workflow_link_runs(&source, &found.runs, &ret->links, &ret->links_truncated, err);
}

int workflow_read(struct api_call *call, struct db *db, struct error *err)
{
    if (db_begin(db, err) != 0)
        return -1;
    return db_end_read(db, load_workflow(call, db, err));
}

static int load_list(struct api_call *call, struct db *db, struct error *err)
{
    const struct workflows_query *query = call->query;
    const struct workflow_span span = { call->tenant_id, query->range.since, query->range.until,
                                        query->limit };
    struct workflow_list *ret = call->answer;
    const struct workflow_found *rows;
    struct workflows_found found;
    struct workflow_listed *listed;
    struct list *agents;

    if (workflows_find(db, &span, call->arena, &found, err) != 0)
        return -1;
    rows = found.workflows.items;
    agents = ARENA_ARRAY(call->arena, struct list, found.workflows.n);
    if (workflows_agents(db, call->tenant_id, &found.workflows, call->arena, agents, err) != 0)
        return -1;
    listed = ARENA_ARRAY(call->arena, struct workflow_listed, found.workflows.n);
    for (size_t i = 0; i < found.workflows.n; i++) {
        listed[i] = (struct workflow_listed){ .workflow_run_id = rows[i].workflow_run_id,
                                              .started_at = rows[i].started_at };
        complete(&agents[i], call->arena, &listed[i]);
    }
    *ret =
        (struct workflow_list){ { listed, found.workflows.n }, found.more, found.examined_since };
    return 0;
}

int workflow_list_read(struct api_call *call, struct db *db, struct error *err)
{
    if (db_begin(db, err) != 0)
        return -1;
    return db_end_read(db, load_list(call, db, err));
}
