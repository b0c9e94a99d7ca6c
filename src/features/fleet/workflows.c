/* workflows.c - reads the runs of a workflow, and checks inputs against earlier outputs. */
#include "features/fleet/workflows.h"

#include "base/map.h"
#include "db/db.h"
#include "features/access/registry.h"
#include "features/agents/shapes.h"
#include "features/events/shapes.h"
#include "features/fleet/shapes.h"
#include "features/fleet/store.h"
#include "features/fleet/workflows_store.h"

enum { INPUTS_MAX = 100000 }; /* checked per workflow: agents may declare very many */

/* An agent of the workflow, and what it declared. */
struct step_agent {
    int64_t agent_id;
    struct agent_register declared;
    bool added; /* its outputs are in `outputs` */
};

struct reading {
    struct db *db;
    int64_t tenant_id;
    struct arena *arena;
    struct map agents;  /* agent_id -> struct step_agent */
    struct map outputs; /* key, and key and type -> struct io_field, of the steps so far */
    size_t n_inputs;    /* checked so far */
};

/* Key and type as one string, in the arena. */
static struct str typed_key(struct arena *arena, struct str key, struct str type)
{
    char *text = arena_alloc(arena, key.len + 1 + type.len);

    memcpy(text, key.data, key.len);
    text[key.len] = '\0'; /* occurs in no key or type */
    memcpy(text + key.len + 1, type.data, type.len);
    return str_from(text, key.len + 1 + type.len);
}

static int find_agent(struct reading *r, int64_t agent_id, struct step_agent **ret,
                      struct error *err)
{
    struct step_agent *agent =
        map_get(&r->agents, str_from((const char *)&agent_id, sizeof(agent_id)));

    if (agent == NULL) {
        agent = ARENA_NEW(r->arena, struct step_agent);
        agent->agent_id = agent_id;
        if (store_fleet_declared(r->db, r->tenant_id, agent_id, r->arena, &agent->declared, err) !=
            0)
            return -1;
        (void)map_put(&r->agents, str_from((const char *)&agent->agent_id, sizeof(agent_id)),
                      agent);
    }
    *ret = agent;
    return 0;
}

static void add_outputs(struct reading *r, struct step_agent *agent)
{
    struct io_field *fields = agent->declared.outputs.items;

    for (size_t i = 0; i < agent->declared.outputs.n && !agent->added; i++) {
        if (map_get(&r->outputs, fields[i].key) == NULL)
            (void)map_put(&r->outputs, fields[i].key, &fields[i]);
        (void)map_put(&r->outputs, typed_key(r->arena, fields[i].key, fields[i].type), &fields[i]);
    }
    agent->added = true;
}

/* Does an earlier step output this key with a compatible type? If not, *ret_other is an output of
 * another type, or NULL. */
static bool is_provided(const struct reading *r, const struct io_field *input,
                        const struct io_field **ret_other)
{
    const struct io_field *any = map_get(&r->outputs, input->key);

    *ret_other = any;
    if (any == NULL)
        return false;
    return str_eq_c(input->type, "any") ||
           map_get(&r->outputs, typed_key(r->arena, input->key, input->type)) != NULL ||
           map_get(&r->outputs, typed_key(r->arena, input->key, STR_LIT("any"))) != NULL;
}

static void check_inputs(struct reading *r, const struct list *inputs, struct workflow_link *ret)
{
    struct str *missing = ARENA_ARRAY(r->arena, struct str, inputs->n);
    struct type_mismatch *mismatched = ARENA_ARRAY(r->arena, struct type_mismatch, inputs->n);
    const struct io_field *fields = inputs->items, *other;

    ret->missing = (struct list){ missing, 0 };
    ret->mismatched = (struct list){ mismatched, 0 };
    if (inputs->n == 0 || r->outputs.n == 0)
        return;
    for (size_t i = 0; i < inputs->n; i++) {
        if (!fields[i].required || is_provided(r, &fields[i], &other))
            continue;
        if (other == NULL)
            missing[ret->missing.n++] = fields[i].key;
        else
            mismatched[ret->mismatched.n++] =
                (struct type_mismatch){ fields[i].key, other->type, fields[i].type };
    }
    r->n_inputs += inputs->n;
    ret->compatible = (struct opt_bool){ true, ret->missing.n + ret->mismatched.n == 0 };
}

static struct workflow_step *step_of(const struct workflow_run *run, struct arena *arena)
{
    struct workflow_step *step = ARENA_NEW(arena, struct workflow_step);

    *step = (struct workflow_step){ run->run_id, run->run.agent_name };
    return step;
}

/* Adds links until INPUTS_MAX is reached. */
static int link_runs(struct reading *r, const struct list *list, struct workflow *ret,
                     struct error *err)
{
    const struct workflow_run *runs = list->items;
    struct workflow_link *links = ARENA_ARRAY(r->arena, struct workflow_link, list->n);
    struct step_agent *before, *agent;
    size_t n = 0;

    if (find_agent(r, runs[0].agent_id, &before, err) != 0)
        return -1;
    for (size_t i = 1; i < list->n && r->n_inputs <= INPUTS_MAX; i++) {
        add_outputs(r, before);
        if (find_agent(r, runs[i].agent_id, &agent, err) != 0)
            return -1;
        links[n].from = step_of(&runs[i - 1], r->arena);
        links[n].to = step_of(&runs[i], r->arena);
        check_inputs(r, &agent->declared.inputs, &links[n++]);
        before = agent;
    }
    ret->links = (struct list){ links, n };
    ret->truncated |= n + 1 < list->n;
    return 0;
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

static int load_workflow(struct reading *r, const struct tenant_entry *tenant,
                         struct str workflow_run_id, struct workflow *ret, struct error *err)
{
    struct workflow_runs found;

    if (store_workflow_runs(r->db, r->tenant_id, workflow_run_id, r->arena, &found, err) != 0)
        return -1;
    if (found.runs.n == 0)
        return err_set(err, ERR_NOT_FOUND, "There is no workflow '%.*s' in tenant '%.*s'",
                       STR_ARG(workflow_run_id), STR_ARG(tenant->slug));
    *ret = (struct workflow){ .workflow_run_id = workflow_run_id, .truncated = found.more };
    summarize(&found.runs, r->arena, ret);
    return link_runs(r, &found.runs, ret, err);
}

int workflow_read(struct db *db, const struct tenant_entry *tenant, struct str workflow_run_id,
                  struct arena *arena, struct workflow *ret, struct error *err)
{
    struct reading r = { .db = db, .tenant_id = tenant->id, .arena = arena };
    int status;

    if (db_begin(db, err) != 0)
        return -1;
    map_init(&r.agents);
    map_init(&r.outputs);
    status = load_workflow(&r, tenant, workflow_run_id, ret, err);
    map_done(&r.agents);
    map_done(&r.outputs);
    db_rollback(db);
    return status;
}
