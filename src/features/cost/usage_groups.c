/* usage_groups.c - the table of open groups, and the bounded list of the most expensive. */
#include "features/cost/usage_groups.h"

#include <stdlib.h>

#include "base/mem.h"
#include "features/cost/usage.h"

enum { KEPT_MAX = 2 * USAGE_GROUPS_MAX };

void usage_groups_init(struct usage_groups *g, const struct agent_name *agents, size_t n_agents,
                       bool by_day)
{
    *g = (struct usage_groups){ .agents = agents, .n_agents = n_agents, .by_day = by_day };
    map_init(&g->open);
    arena_init(&g->open_arena);
    buf_init(&g->key, KIB(16));
    arena_init(&g->arenas[0]);
    arena_init(&g->arenas[1]);
    g->kept = mem_new(KEPT_MAX * sizeof(*g->kept));
}

void usage_groups_done(struct usage_groups *g)
{
    map_done(&g->open);
    arena_done(&g->open_arena);
    buf_done(&g->key);
    arena_done(&g->arenas[0]);
    arena_done(&g->arenas[1]);
    free(g->kept);
}

static void add_number(struct buf *out, int64_t number)
{
    buf_add(out, str_from((const char *)&number, sizeof(number)));
}

/* The key as bytes, valid until the next call; names contain no NUL. */
static struct str key_bytes(struct usage_groups *g, const struct usage_key *key)
{
    buf_clear(&g->key);
    add_number(&g->key, key->agent_id);
    add_number(&g->key, key->day);
    buf_add(&g->key, key->model);
    buf_add_char(&g->key, '\0');
    buf_add(&g->key, key->run_id);
    buf_add_char(&g->key, '\0');
    buf_add(&g->key, key->version);
    return buf_str(&g->key);
}

static int by_number(const void *a, const void *b)
{
    const struct agent_name *x = a, *y = b;

    return x->agent_id < y->agent_id ? -1 : x->agent_id > y->agent_id;
}

/* The usage of a deleted agent has no name. */
static struct str name_of(const struct usage_groups *g, int64_t agent_id)
{
    const struct agent_name wanted = { .agent_id = agent_id }, *found = NULL;

    if (g->agents == NULL)
        return STR_NULL;
    found = bsearch(&wanted, g->agents, g->n_agents, sizeof(wanted), by_number);
    return found == NULL ? STR_LIT("") : found->name;
}

static void copy_texts(struct usage_key *key, struct arena *arena)
{
    key->model = arena_copy(arena, key->model);
    key->run_id = arena_copy(arena, key->run_id);
    key->version = arena_copy(arena, key->version);
}

struct cost_sum *usage_groups_at(struct usage_groups *g, const struct usage_key *key)
{
    struct str bytes = key_bytes(g, key);
    struct usage_entry *entry = map_get(&g->open, bytes);

    if (entry != NULL)
        return &entry->sum;
    if (g->open.n == USAGE_OPEN_MAX) {
        g->too_many = true;
        return NULL;
    }
    entry = ARENA_NEW(&g->open_arena, struct usage_entry);
    entry->key = *key;
    copy_texts(&entry->key, &g->open_arena);
    entry->agent_name = name_of(g, key->agent_id);
    (void)map_put(&g->open, arena_copy(&g->open_arena, bytes), entry);
    return &entry->sum;
}

static int by_names(const struct usage_entry *x, const struct usage_entry *y)
{
    int order = str_cmp(x->key.model, y->key.model);

    if (order == 0)
        order = str_cmp(x->agent_name, y->agent_name);
    if (order == 0)
        order = str_cmp(x->key.run_id, y->key.run_id);
    if (order == 0)
        order = str_cmp(x->key.version, y->key.version);
    return order;
}

static int by_day(const struct usage_entry *x, const struct usage_entry *y)
{
    return x->key.day < y->key.day ? -1 : x->key.day > y->key.day;
}

static int by_cost(const struct usage_entry *x, const struct usage_entry *y)
{
    if (x->sum.priced != y->sum.priced)
        return x->sum.priced ? -1 : 1;
    return x->sum.cost > y->sum.cost ? -1 : x->sum.cost < y->sum.cost;
}

/* The order in which groups are kept. Both orders are total, so that SQLite and PostgreSQL give the
 * same answer. */
static int highest_cost_first(const void *a, const void *b)
{
    int order = by_cost(a, b);

    if (order == 0)
        order = by_day(a, b);
    return order != 0 ? order : by_names(a, b);
}

static int earliest_first(const void *a, const void *b)
{
    int order = by_day(a, b);

    if (order == 0)
        order = by_cost(a, b);
    return order != 0 ? order : by_names(a, b);
}

/* Drops the cheapest groups beyond the size of an answer, and their strings. */
static void drop_cheapest(struct usage_groups *g)
{
    struct arena from = g->arenas[0];

    qsort(g->kept, g->n_kept, sizeof(*g->kept), highest_cost_first);
    g->n_kept = USAGE_GROUPS_MAX;
    g->truncated = true;
    for (size_t i = 0; i < g->n_kept; i++)
        copy_texts(&g->kept[i].key, &g->arenas[1]);
    arena_reset(&from);
    g->arenas[0] = g->arenas[1];
    g->arenas[1] = from;
}

void usage_groups_settle(struct usage_groups *g)
{
    const struct usage_entry *entry;
    size_t at = 0;

    while ((entry = map_next(&g->open, &at)) != NULL) {
        struct usage_entry *kept;

        if (g->n_kept == KEPT_MAX)
            drop_cheapest(g);
        kept = &g->kept[g->n_kept++];
        *kept = *entry;
        copy_texts(&kept->key, &g->arenas[0]);
    }
    map_done(&g->open);
    map_init(&g->open);
    arena_reset(&g->open_arena);
}

void usage_groups_finish(struct usage_groups *g)
{
    usage_groups_settle(g);
    if (g->n_kept > USAGE_GROUPS_MAX)
        drop_cheapest(g);
    if (g->n_kept > 0)
        qsort(g->kept, g->n_kept, sizeof(*g->kept),
              g->by_day ? earliest_first : highest_cost_first);
}
