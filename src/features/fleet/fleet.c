/* fleet.c - agents' state from rows, memory and the clock. */
#include "features/fleet/fleet.h"

#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "db/db.h"
#include "db/name_key.h"
#include "features/access/registry.h"
#include "features/agents/agent_cache.h"
#include "features/agents/agents.h"
#include "features/agents/directives/directives.h"
#include "features/agents/schedules/schedules.h"
#include "features/agents/shapes.h"
#include "features/cost/llm_totals.h"
#include "features/cost/reports.h"
#include "features/events/runs.h"
#include "features/events/shapes.h"
#include "features/fleet/reads.h"
#include "features/fleet/shapes.h"
#include "features/fleet/store.h"
#include "shape/rows.h"

enum {
    RECENT_RUNS = 20,
    COUNTED_RUNS = 1000,       /* of an agent, by status and version */
    SCAN_MAX = 10000,          /* agents scanned per page by name */
    PAGE_BYTES_MAX = 16 << 20, /* of names and descriptions, by name */
};

/* A page being built. */
struct page {
    const struct fleet_view *view;
    const struct agents_query *query;
    struct arena *arena; /* holds the answer */
    int64_t *ids;        /* of its agents */
    size_t n;

    /* by name */
    size_t scanned, bytes;
    char last[NAME_KEY_LEN_MAX]; /* the key of the last agent that was scanned */
    size_t last_len;
    bool more; /* there are agents after it */
};

static bool is_full(const struct page *p)
{
    return p->n == (size_t)p->query->limit;
}

/* What a person should look at first. */
static const enum liveness_state by_trouble[] = {
    LIVENESS_SILENT, LIVENESS_LATE,        LIVENESS_NEVER_REPORTED,
    LIVENESS_UP,     LIVENESS_UNSCHEDULED, LIVENESS_DISABLED,
};

_Static_assert(sizeof(by_trouble) / sizeof(*by_trouble) == LIVENESS_STATES, "each state once");

struct ranked {
    int64_t agent_id;
    int64_t last_seen_at; /* TIME_NULL */
};

/* Agents that were added by name. By trouble there is a rank for each state; by agent, one; by last
 * seen, one for those that were seen and one for the others. */
struct rank {
    struct ranked *agents;
    size_t n, room;
};

struct scan {
    const struct fleet_view *view;
    const struct agents_query *query;
    struct rank ranks[LIVENESS_STATES]; /* the first is listed first */
    size_t counts[LIVENESS_STATES];
};

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* Does the agent's name contain the query's text? */
static bool name_matches(const struct agents_query *query, struct str agent_name)
{
    const struct str part = query->q;

    if (str_is_null(part))
        return true;
    for (size_t at = 0; at + part.len <= agent_name.len; at++) {
        size_t n = 0;

        while (n < part.len && lower(agent_name.data[at + n]) == lower(part.data[n]))
            n++;
        if (n == part.len)
            return true;
    }
    return false;
}

static void add_to_rank(struct rank *rank, const struct ranked *agent)
{
    rank->agents = mem_grow(rank->agents, rank->n, &rank->room, sizeof(*rank->agents));
    rank->agents[rank->n++] = *agent;
}

/* The rank that the agent belongs to. */
static size_t place_of(const struct scan *scan, enum liveness_state state, int64_t last_seen_at)
{
    size_t place = 0;

    if (scan->query->order == AGENTS_BY_LAST_SEEN)
        return last_seen_at == TIME_NULL;
    if (scan->query->order != AGENTS_BY_TROUBLE)
        return 0;
    while (by_trouble[place] != state)
        place++;
    return place;
}

static struct liveness facts_of(const struct fleet_view *view, const struct fleet_sign *sign)
{
    return (struct liveness){
        .enabled = sign->enabled,
        .schedule = schedule_of(&sign->interval_seconds, &sign->schedule),
        .windows = { view->windows.items, view->windows.n, sign->agent_id },
        .last_seen_at = agent_cache_last_seen(view->cache, view->tenant->id, sign->agent_id,
                                              sign->last_seen_at, view->now_us),
        .state_only = true,
    };
}

static bool rank_agent(void *ctx, const struct fleet_sign *sign)
{
    struct scan *scan = ctx;
    const struct liveness facts = facts_of(scan->view, sign);
    enum liveness_state state;

    if (!name_matches(scan->query, sign->agent_name))
        return true;
    state = liveness_of(&facts, scan->view->now_us).state;
    scan->counts[state]++;
    if (scan->query->state < 0 || scan->query->state == (int)state)
        add_to_rank(&scan->ranks[place_of(scan, state, facts.last_seen_at)],
                    &(struct ranked){ sign->agent_id, facts.last_seen_at });
    return true;
}

/* The latest first; at the same time, in an order that stays. */
static int compare_last_seen(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->last_seen_at != y->last_seen_at)
        return x->last_seen_at > y->last_seen_at ? -1 : 1;
    return x->agent_id < y->agent_id ? -1 : x->agent_id > y->agent_id;
}

static void reverse(struct rank *rank)
{
    for (size_t i = 0; i < rank->n / 2; i++) {
        const struct ranked first = rank->agents[i];

        rank->agents[i] = rank->agents[rank->n - 1 - i];
        rank->agents[rank->n - 1 - i] = first;
    }
}

/* Sorts the first rank, which all agents of the orders but trouble are in that have a place. */
static void sort_first(struct scan *scan)
{
    struct rank *rank = &scan->ranks[0];

    if (scan->query->order == AGENTS_BY_TROUBLE || rank->n == 0)
        return;
    if (scan->query->order == AGENTS_BY_LAST_SEEN)
        qsort(rank->agents, rank->n, sizeof(*rank->agents), compare_last_seen);
    if (scan->query->reverse)
        reverse(rank);
}

/* Copies the page of the query out of the ranks. */
static void take_page(const struct scan *scan, struct page *ret)
{
    size_t skip = (size_t)scan->query->offset;

    for (size_t i = 0; i < LIVENESS_STATES; i++) {
        const struct rank *rank = &scan->ranks[i];

        for (size_t at = skip; at < rank->n && !is_full(ret); at++)
            ret->ids[ret->n++] = rank->agents[at].agent_id;
        skip -= skip < rank->n ? skip : rank->n;
    }
}

static struct agent_counts state_counts(const size_t n[LIVENESS_STATES])
{
    return (struct agent_counts){
        .up = (int64_t)n[LIVENESS_UP],
        .late = (int64_t)n[LIVENESS_LATE],
        .silent = (int64_t)n[LIVENESS_SILENT],
        .unscheduled = (int64_t)n[LIVENESS_UNSCHEDULED],
        .never_reported = (int64_t)n[LIVENESS_NEVER_REPORTED],
        .disabled = (int64_t)n[LIVENESS_DISABLED],
    };
}

/* The tenant's agents that match the name and state of the query, in its order. Names are compared
 * only while they are read, so 16 bytes are kept for each. Of all whose name matches, the states
 * are counted. */
static int rank_page(struct page *p, struct db *db, struct agent_counts *ret, struct error *err)
{
    struct scan scan = { .view = p->view, .query = p->query };
    const struct fleet_span all = { .after_key = STR_NULL, .limit = INT64_MAX };
    int r = fleet_signs(db, p->view->tenant->id, &all, rank_agent, &scan, err);

    if (r == 0) {
        sort_first(&scan);
        take_page(&scan, p);
        *ret = state_counts(scan.counts);
    }
    for (size_t i = 0; i < LIVENESS_STATES; i++)
        free(scan.ranks[i].agents);
    return r;
}

/* Adds an agent to a page by name; false: the page ends before it. */
static bool page_agent(void *ctx, const struct fleet_sign *sign)
{
    struct page *p = ctx;
    const struct liveness facts = facts_of(p->view, sign);

    p->more = is_full(p) || p->bytes > PAGE_BYTES_MAX || p->scanned == SCAN_MAX;
    if (p->more)
        return false;
    p->scanned++;
    p->last_len = sign->key.len;
    memcpy(p->last, sign->key.data, sign->key.len);
    if (name_matches(p->query, sign->agent_name) &&
        (p->query->state < 0 ||
         p->query->state == (int)liveness_of(&facts, p->view->now_us).state)) {
        p->ids[p->n++] = sign->agent_id;
        p->bytes += sign->agent_name.len + FLEET_DESCRIPTION_MAX;
    }
    return true;
}

static int page_by_name(struct page *p, struct db *db, struct str *ret_next, struct error *err)
{
    const bool picks = !str_is_null(p->query->q) || p->query->state >= 0;
    const struct fleet_span span = { .after_key = p->query->cursor,
                                     .limit = 1 + (picks ? SCAN_MAX : p->query->limit) };

    if (fleet_signs(db, p->view->tenant->id, &span, page_agent, p, err) != 0)
        return -1;
    *ret_next = p->more ? arena_copy(p->arena, str_from(p->last, p->last_len)) : STR_NULL;
    return 0;
}

static struct agent_run run_answer(const struct recent_run *run)
{
    return (struct agent_run){ .run_id = run->run_id,
                               .status = str_of(run_status_names[run->status]),
                               .started_at = run->started_at,
                               .ended_at = run->ended_at,
                               .duration_ms = run->duration_ms };
}

/* The version last reported, by a run or by a later registration. */
static struct str version_of(const struct fleet_agent *agent, const struct recent_run *newest)
{
    bool registered_since = newest == NULL || (agent->registered_at != TIME_NULL &&
                                               agent->registered_at > newest->started_at);

    if (newest != NULL && newest->agent_version.len > 0 &&
        (!registered_since || agent->registered_version.len == 0))
        return newest->agent_version;
    return agent->registered_version;
}

/* Fills in everything except the runs. */
static void set_liveness(const struct fleet_view *view, const struct fleet_agent *agent,
                         struct arena *arena, struct agent_listed *ret)
{
    const struct liveness facts = {
        .enabled = agent->enabled,
        .schedule = schedule_of(&agent->interval_seconds, &agent->schedule),
        .windows = { view->windows.items, view->windows.n, agent->agent_id },
        .last_seen_at = agent_cache_last_seen(view->cache, view->tenant->id, agent->agent_id,
                                              agent->last_seen_at, view->now_us),
    };
    const struct liveness_verdict verdict = liveness_of(&facts, view->now_us);
    bool muted = agent->muted_until > view->now_us;

    *ret =
        (struct agent_listed){ .agent_name = agent->agent_name,
                               .agent_version = agent->registered_version,
                               .description = agent->description,
                               .enabled = agent->enabled,
                               .state = str_of(liveness_names[verdict.state]),
                               .interval_seconds = agent->interval_seconds,
                               .schedule = schedule_answer(&agent->interval_seconds,
                                                           &agent->schedule, view->now_us, arena),
                               .maintenance_until = verdict.maintenance_until,
                               .first_seen_at = agent->first_seen_at,
                               .last_seen_at = facts.last_seen_at,
                               .next_expected_at = verdict.next_expected_at,
                               .silent_at = verdict.silent_at,
                               .registered_at = agent->registered_at,
                               .muted_until = muted ? agent->muted_until : TIME_NULL };
}

/* Fills in the fields that come from the newest runs, a list of struct recent_run. */
static void add_runs(struct agent_listed *agent, const struct fleet_agent *row,
                     const struct list *runs, struct arena *arena)
{
    size_t n = runs->n < RECENT_RUNS ? runs->n : RECENT_RUNS;
    struct agent_run *recent = ARENA_ARRAY(arena, struct agent_run, n);
    const struct recent_run *rows = runs->items;

    for (size_t i = 0; i < n; i++) {
        recent[i] = run_answer(&rows[i]);
        agent->open_runs += rows[i].status == RUN_IN_PROGRESS;
    }
    agent->agent_version = version_of(row, n == 0 ? NULL : &rows[0]);
    agent->last_run = n == 0 ? NULL : recent;
    agent->recent_runs = (struct list){ recent, n };
}

/* Reads the agents of the page with their runs. One that was deleted since is left out. */
static int load_page(const struct page *p, struct db *db, struct list *ret, struct error *err)
{
    const struct list ids = { p->ids, p->n };
    struct recent_runs of = { p->view->tenant->id, p->ids, 0, RECENT_RUNS };
    struct agent_listed *agents;
    const struct fleet_agent *rows;
    struct list found, *runs;

    if (fleet_rows_by_id(db, p->view->tenant->id, &ids, p->arena, &found, err) != 0)
        return -1;
    rows = found.items;
    for (size_t i = 0; i < found.n; i++)
        p->ids[i] = rows[i].agent_id;
    of.n = found.n;
    runs = ARENA_ARRAY(p->arena, struct list, found.n);
    if (runs_recent(db, &of, p->arena, runs, err) != 0)
        return -1;
    agents = ARENA_ARRAY(p->arena, struct agent_listed, found.n);
    for (size_t i = 0; i < found.n; i++) {
        set_liveness(p->view, &rows[i], p->arena, &agents[i]);
        add_runs(&agents[i], &rows[i], &runs[i], p->arena);
        if (!p->query->include_runs)
            agents[i].recent_runs = (struct list){ 0 };
    }
    *ret = (struct list){ agents, found.n };
    return 0;
}

static struct fleet_view view_of(const struct api_call *call)
{
    return (struct fleet_view){ .tenant = call->tenant,
                                .cache = agents_cache(call->api->engine),
                                .directives = agents_directives(call->api->engine),
                                .now_us = clock_wall_us() };
}

int fleet_list(struct api_call *call, struct db *db, struct error *err)
{
    const struct agents_query *query = call->query;
    struct agent_list *ret = call->answer;
    struct fleet_view view = view_of(call);
    struct page p = { .view = &view,
                      .query = query,
                      .arena = call->arena,
                      .ids = ARENA_ARRAY(call->arena, int64_t, (size_t)query->limit) };
    int r;

    if (query->order != AGENTS_BY_NAME)
        ret->counts = ARENA_NEW(call->arena, struct agent_counts);
    if (db_begin(db, err) != 0)
        return -1;
    r = schedules_windows(db, call->tenant_id, call->arena, &view.windows, err);
    if (r == 0)
        r = query->order == AGENTS_BY_NAME ? page_by_name(&p, db, &ret->next, err)
                                           : rank_page(&p, db, ret->counts, err);
    if (r == 0)
        r = load_page(&p, db, &ret->agents, err);
    db_rollback(db);
    return r;
}

struct walk {
    struct fleet_view view;
    fleet_state_fn *fn;
    void *ctx;
    size_t n;
};

static bool walk_agent(void *ctx, const struct fleet_sign *sign)
{
    struct walk *w = ctx;
    const struct liveness facts = facts_of(&w->view, sign);

    if (w->n++ == SCAN_MAX)
        return false;
    w->fn(w->ctx,
          &(struct fleet_state){ sign->agent_name, liveness_of(&facts, w->view.now_us).state,
                                 facts.last_seen_at });
    return true;
}

int fleet_walk(struct db *db, const struct fleet_view *view, fleet_state_fn *fn, void *ctx,
               bool *ret_more, struct error *err)
{
    const struct fleet_span first = { .after_key = STR_NULL, .limit = SCAN_MAX + 1 };
    struct walk w = { .view = *view, .fn = fn, .ctx = ctx };
    ARENA_SCOPED(arena);
    int r;

    if (db_begin(db, err) != 0)
        return -1;
    r = schedules_windows(db, view->tenant->id, &arena, &w.view.windows, err);
    if (r == 0)
        r = fleet_signs(db, view->tenant->id, &first, walk_agent, &w, err);
    db_rollback(db);
    *ret_more = w.n > SCAN_MAX;
    return r;
}

static int read_last_model(struct db *db, const struct fleet_view *view, int64_t agent_id,
                           struct arena *arena, struct agent_detail *ret, struct error *err)
{
    const struct llm_agent of = { view->tenant->id, agent_id };
    const int64_t until = view->now_us + LLM_DAY_US; /* a clock may be ahead */
    struct llm_last last;

    if (llm_usage_last(db, &of, until, arena, &last, err) != 0)
        return -1;
    ret->last_model = last.model;
    ret->last_model_at = last.at;
    return 0;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* Leaves the newest COUNTED_RUNS, without those that started when one that is left out did: so the
 * list of runs since the oldest of them has exactly these. Returns when that one started;
 * TIME_NULL: nothing is left out. */
static int64_t bound_counted(struct list *list)
{
    const struct recent_run *runs = list->items;
    size_t n = COUNTED_RUNS;

    if (list->n <= COUNTED_RUNS)
        return TIME_NULL;
    while (n > 0 && runs[n - 1].started_at == runs[COUNTED_RUNS].started_at)
        n--;
    list->n = n > 0 ? n : COUNTED_RUNS;
    return runs[list->n - 1].started_at;
}

static struct run_counts *counts_of(const struct list *list, struct arena *arena)
{
    struct run_counts *counts = ARENA_NEW(arena, struct run_counts);
    int64_t *durations = ARENA_ARRAY(arena, int64_t, list->n);
    const struct recent_run *runs = list->items;
    size_t ended = 0;

    counts->runs = (int64_t)list->n;
    counts->newest_at = list->n == 0 ? TIME_NULL : runs[0].started_at;
    for (size_t i = 0; i < list->n; i++) {
        counts->in_progress += runs[i].status == RUN_IN_PROGRESS;
        counts->completed += runs[i].status == RUN_COMPLETED;
        counts->failed += runs[i].status == RUN_FAILED;
        if (runs[i].duration_ms.has)
            durations[ended++] = runs[i].duration_ms.value;
    }
    if (ended == 0)
        return counts;
    qsort(durations, ended, sizeof(*durations), by_value);
    counts->median_duration_ms = (struct opt_int){ true, durations[(ended - 1) / 2] };
    return counts;
}

/* The versions of these runs, which are sorted newest first. */
static struct list find_versions(const struct list *list, struct arena *arena)
{
    struct agent_version *versions = ARENA_ARRAY(arena, struct agent_version, list->n);
    const struct recent_run *runs = list->items;
    struct map seen;
    size_t n = 0;

    map_init(&seen);
    for (size_t i = 0; i < list->n; i++) {
        struct agent_version *version = map_get(&seen, runs[i].agent_version);

        if (runs[i].agent_version.len == 0)
            continue;
        if (version == NULL) {
            version = &versions[n++];
            version->agent_version = runs[i].agent_version;
            version->last_run_at = runs[i].started_at;
            (void)map_put(&seen, version->agent_version, version);
        }
        version->runs++;
        version->first_run_at = runs[i].started_at;
    }
    map_done(&seen);
    return (struct list){ versions, n };
}

/* Fills in versions and counts from the newest COUNTED_RUNS + 1 runs (struct recent_run), the
 * newest first; strings are in the arena. Leaves those that are counted. */
static void count_runs(struct list *runs, struct arena *arena, struct agent_detail *ret)
{
    const int64_t since = bound_counted(runs);

    ret->versions = find_versions(runs, arena);
    ret->counts = counts_of(runs, arena);
    ret->counts->counted_since = since;
}

/* Reads everything in one snapshot. */
static int load_agent(struct db *db, const struct fleet_view *view, struct str agent_name,
                      struct arena *arena, struct agent_detail *ret, struct error *err)
{
    struct agent_register declared;
    struct fleet_agent row;
    struct list runs;

    if (fleet_row_of(db, view->tenant->id, agent_name, arena, &row, err) != 0)
        return -1;
    if (row.agent_id == 0)
        return err_set(err, ERR_NOT_FOUND, "There is no agent '%.*s' in tenant '%.*s'",
                       STR_ARG(agent_name), STR_ARG(view->tenant->slug));
    if (fleet_declared(db, view->tenant->id, row.agent_id, arena, &declared, err) != 0 ||
        runs_recent(db,
                    &(struct recent_runs){ view->tenant->id, &row.agent_id, 1, COUNTED_RUNS + 1 },
                    arena, &runs, err) != 0)
        return -1;
    if (declared.config_schema != NULL &&
        config_hide_defaults(db, view->tenant->id, declared.config_schema, arena, err) != 0)
        return -1;
    set_liveness(view, &row, arena, &ret->agent);
    add_runs(&ret->agent, &row, &runs, arena);
    ret->agent.description = declared.description;
    ret->telemetry_doc = declared.telemetry_doc;
    ret->business_kpis = declared.business_kpis;
    ret->inputs = declared.inputs;
    ret->outputs = declared.outputs;
    ret->config_schema = declared.config_schema;
    count_runs(&runs, arena, ret);
    return read_last_model(db, view, row.agent_id, arena, ret, err);
}

int fleet_agent(struct api_call *call, struct db *db, struct error *err)
{
    const struct agent_path *path = call->params;
    struct agent_detail *ret = call->answer;
    struct fleet_view view = view_of(call);
    struct arena *arena = call->arena;
    int r;

    if (db_begin(db, err) != 0)
        return -1;
    r = schedules_windows(db, call->tenant_id, arena, &view.windows, err);
    if (r == 0)
        r = load_agent(db, &view, path->agent_name, arena, ret, err);
    db_rollback(db);
    if (r != 0)
        return -1;
    ret->model = ARENA_NEW(arena, struct agent_model);
    ret->command_policy = ARENA_NEW(arena, struct command_policy);
    directives_cache_model(view.directives, call->tenant_id, path->agent_name, arena, ret->model);
    directives_cache_policy(view.directives, call->tenant_id, path->agent_name, arena,
                            ret->command_policy);
    return 0;
}
