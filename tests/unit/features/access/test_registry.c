/* test_registry.c - tenants and keys in memory follow the database, change by change. */
#include <pthread.h>

#include "features/access/keys.h"
#include "unit/features/access/registry_world.h"
#include "unit/plan.h"

TEST(a_key_is_found_with_its_tenant_and_agent)
{
    const struct key_entry *key;
    struct world w;

    world_init(&w);
    add_key(&w, w.tenant_id, "workspace", NULL, TIME_NULL);
    add_key(&w, w.tenant_id, "bound", "collector", TIME_NULL);
    add_key(&w, add_tenant(&w, "other"), "foreign", NULL, TIME_NULL);
    CHECK(find(&w, "workspace", NOW) == NULL); /* nothing is known before the first refresh */
    CHECK(registry_tenant(w.registry, STR_LIT("acme")) == NULL);
    refresh(&w);
    key = find(&w, "workspace", NOW);
    assert_non_null(key);
    CHECK_STR(key->tenant->slug, "acme");
    CHECK_INT(key->kind, TOKEN_WORKSPACE);
    CHECK(str_is_null(key->agent_name));
    CHECK_INT(atomic_load(&key->tenant->max_agents), 7);
    CHECK_INT(atomic_load(&key->tenant->rate_limit), 11);
    key = find(&w, "bound", NOW);
    assert_non_null(key);
    CHECK_INT(key->kind, TOKEN_AGENT);
    CHECK_STR(key->agent_name, "collector");
    CHECK_STR(find(&w, "foreign", NOW)->tenant->slug, "other");
    CHECK(find(&w, "unknown", NOW) == NULL);
    CHECK(registry_tenant(w.registry, STR_LIT("acme")) == find(&w, "bound", NOW)->tenant);
    CHECK(registry_tenant(w.registry, STR_LIT("acm")) == NULL);
    CHECK(registry_tenant(w.registry, STR_LIT("")) == NULL);
    world_done(&w);
}

TEST(an_expired_key_is_good_until_its_moment_and_not_at_it)
{
    int64_t now = clock_wall_us();
    struct world w;

    world_init(&w);
    add_key(&w, w.tenant_id, "short", NULL, now);
    refresh(&w);
    CHECK(find(&w, "short", now - 1) != NULL);
    CHECK(find(&w, "short", now) == NULL);
    CHECK(find(&w, "short", INT64_MAX) == NULL);
    world_done(&w);
}

TEST(a_revoked_key_is_gone_and_its_entry_stays_valid)
{
    const struct key_entry *key;
    struct world w;

    world_init(&w);
    add_key(&w, w.tenant_id, "one", NULL, TIME_NULL);
    add_key(&w, w.tenant_id, "two", NULL, TIME_NULL);
    refresh(&w);
    key = find(&w, "one", NOW);
    changed(&w);
    revoke_key(&w, "one");
    refresh(&w);
    CHECK(find(&w, "one", NOW) == NULL);
    CHECK_STR(key->key_id, "one"); /* a request under way may still hold it */
    CHECK(find(&w, "two", NOW) != NULL);
    world_done(&w);
}

/* Its row may be gone by then. */
TEST(a_key_that_ended_while_the_database_was_away_is_gone)
{
    static const struct db_query forget = { .sql = "DELETE FROM keys WHERE key_id = 'one'" };
    struct world w;

    world_init(&w);
    add_key(&w, w.tenant_id, "one", NULL, TIME_NULL);
    add_key(&w, w.tenant_id, "two", NULL, TIME_NULL);
    refresh(&w);
    CHECK(find(&w, "one", NOW) != NULL);
    changed(&w);
    CHECK(db_run(w.db, &forget, DB_NO_ARGS, NULL) == 0);
    clock_advance_us(KEY_DEAD_US);
    refresh(&w);
    CHECK(find(&w, "one", NOW) == NULL);
    CHECK(find(&w, "two", NOW) != NULL);
    world_done(&w);
}

TEST(a_changed_plan_is_seen_and_the_rate_window_survives)
{
    struct tenant_row row = {
        .slug = STR_LIT("acme"), .name = STR_LIT(""), .max_agents = 70, .rate_limit = 110
    };
    const struct rate_window *rate;
    struct world w;

    world_init(&w);
    add_key(&w, w.tenant_id, "one", NULL, TIME_NULL);
    refresh(&w);
    rate = key_rate(find(&w, "one", NOW));
    changed(&w);
    CHECK(tenant_set(w.db, &row, NULL) == 0);
    refresh(&w);
    CHECK_INT(atomic_load(&find(&w, "one", NOW)->tenant->max_agents), 70);
    CHECK_INT(atomic_load(&find(&w, "one", NOW)->tenant->rate_limit), 110);
    CHECK(key_rate(find(&w, "one", NOW)) == rate);
    world_done(&w);
}

TEST(nothing_is_read_while_the_change_number_stands_still)
{
    struct world w;

    world_init(&w);
    refresh(&w);
    add_key(&w, w.tenant_id, "silent", NULL, TIME_NULL);
    refresh(&w);
    CHECK(find(&w, "silent", NOW) == NULL);
    changed(&w);
    add_key(&w, w.tenant_id, "said", NULL, TIME_NULL);
    refresh(&w);
    CHECK(find(&w, "said", NOW) != NULL);
    CHECK(find(&w, "silent", NOW) == NULL); /* its row does not say that it changed */
    CHECK(db_script(w.db, "UPDATE tenants SET slug = 'renamed', changed = 0", NULL) == 0);
    changed(&w);
    refresh(&w);
    CHECK(registry_tenant(w.registry, STR_LIT("renamed")) == NULL);
    changed(&w);
    CHECK(registry_reload(w.db, NULL) == 0); /* of all tenants */
    refresh(&w);
    CHECK(registry_tenant(w.registry, STR_LIT("renamed")) != NULL);
    CHECK(find(&w, "said", NOW) != NULL && find(&w, "silent", NOW) == NULL);
    world_done(&w);
}

static void *look_up_often(void *arg)
{
    struct world *w = arg;
    intptr_t seen = 0;

    while (seen < 2000)
        seen += find(w, "steady", NOW) != NULL;
    return NULL;
}

TEST(keys_are_found_while_others_come)
{
    pthread_t threads[2];
    struct world w;

    world_init(&w);
    add_key(&w, w.tenant_id, "steady", NULL, TIME_NULL);
    refresh(&w);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        CHECK(pthread_create(&threads[i], NULL, look_up_often, &w) == 0);
    for (int i = 0; i < 50; i++) {
        char token[16];

        (void)snprintf(token, sizeof(token), "key-%d", i);
        changed(&w);
        add_key(&w, w.tenant_id, token, NULL, TIME_NULL);
        refresh(&w);
        CHECK(find(&w, token, NOW) != NULL);
    }
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
    world_done(&w);
}

enum { DAY_S = 86400 };

/* What becomes of the wall clock between rotation and grace's end is no matter to who was running.
 */
TEST(the_grace_of_a_rotated_key_is_five_minutes_of_the_monotonic_clock)
{
    static const struct {
        int64_t before_s, after_s; /* steps of the wall clock: before it is learned of, and after */
    } rows[] = {
        { 0, 0 }, { 0, DAY_S }, { 0, -DAY_S }, { DAY_S, 0 }, { -DAY_S, 0 }, { 600, -600 }
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct world w;

        world_init(&w);
        add_key(&w, w.tenant_id, "old", NULL, TIME_NULL);
        refresh(&w);
        rotate(&w, "old", "new");
        clock_step_wall_us(rows[i].before_s * USEC_PER_SEC);
        refresh(&w);
        clock_step_wall_us(rows[i].after_s * USEC_PER_SEC);
        changed(&w);
        refresh(&w); /* loading again does not begin again */
        clock_advance_us(KEY_GRACE_US - USEC_PER_SEC);
        CHECK(find(&w, "old", NOW) != NULL);
        changed(&w);
        refresh(&w);
        clock_advance_us(USEC_PER_SEC);
        CHECK(find(&w, "old", NOW) == NULL);
        CHECK(find(&w, "new", NOW) != NULL);
        world_done(&w);
    }
}

TEST(the_grace_of_a_key_rotated_before_the_start_is_judged_by_the_wall_clock)
{
    static const struct {
        int64_t step_s, left_s; /* at the start */
    } rows[] = { { 0, 300 }, { 100, 200 }, { 300, 0 }, { DAY_S, 0 }, { -DAY_S, 300 } };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct world w;

        world_init(&w);
        add_key(&w, w.tenant_id, "old", NULL, TIME_NULL);
        rotate(&w, "old", "new");
        clock_step_wall_us(rows[i].step_s * USEC_PER_SEC);
        refresh(&w);
        CHECK((find(&w, "old", NOW) != NULL) == (rows[i].left_s > 0));
        if (rows[i].left_s > 0) {
            clock_advance_us((rows[i].left_s - 1) * USEC_PER_SEC);
            CHECK(find(&w, "old", NOW) != NULL);
            clock_advance_us(USEC_PER_SEC);
            CHECK(find(&w, "old", NOW) == NULL);
        }
        world_done(&w);
    }
}

TEST(successors_count_in_the_window_of_the_first_key_however_they_are_loaded)
{
    for (int late = 0; late < 2; late++) {
        const struct key_entry *c;
        struct world w;

        world_init(&w);
        add_key(&w, w.tenant_id, "a", NULL, TIME_NULL);
        add_key(&w, w.tenant_id, "other", NULL, TIME_NULL);
        if (late)
            refresh(&w);
        clock_step_wall_us(-60 * (int64_t)USEC_PER_SEC); /* they seem to be older than "a" */
        rotate(&w, "a", "b");
        if (late)
            refresh(&w);
        rotate(&w, "b", "c");
        clock_step_wall_us(60 * (int64_t)USEC_PER_SEC);
        refresh(&w);
        c = find(&w, "c", NOW);
        assert_non_null(c);
        CHECK(key_rate(c) == key_rate(find(&w, "a", NOW)));
        CHECK(key_rate(c) == key_rate(find(&w, "b", NOW)));
        CHECK(key_rate(c) != key_rate(find(&w, "other", NOW)));
        world_done(&w);
    }
}

TEST(a_key_that_expired_leaves_after_a_day_of_doubt)
{
    struct world w;

    world_init(&w);
    add_key(&w, w.tenant_id, "long", NULL, clock_wall_us() + USEC_PER_SEC);
    refresh(&w);
    clock_advance_us(DAY_S * (int64_t)USEC_PER_SEC);
    registry_sweep(w.registry);
    CHECK(knows(&w, "long"));
    CHECK(find(&w, "long", clock_wall_us()) == NULL);
    clock_advance_us(KEY_GRACE_US + 2 * (int64_t)USEC_PER_SEC);
    registry_sweep(w.registry);
    CHECK(!knows(&w, "long"));
    registry_sweep(w.registry); /* frees it */
    world_done(&w);
}

TEST(a_key_that_is_over_leaves_and_its_memory_once_nobody_holds_it)
{
    const struct key_entry *held, *counted;
    struct world w;

    world_init(&w);
    add_key(&w, w.tenant_id, "held", NULL, TIME_NULL);
    add_key(&w, w.tenant_id, "counted", NULL, TIME_NULL);
    refresh(&w);
    held = find(&w, "held", NOW);
    counted = find(&w, "counted", NOW);
    key_unhold(counted->use);
    budget_force(key_budget(counted), BUDGET_REPLY_BYTES, 1);
    changed(&w);
    revoke_key(&w, "held");
    revoke_key(&w, "counted");
    refresh(&w);
    for (int i = 0; i < 3; i++)
        registry_sweep(w.registry);
    CHECK(!knows(&w, "held") && !knows(&w, "counted"));
    CHECK(!key_is_good(held, NOW)); /* both are still there */
    CHECK_STR(held->key_id, "held");
    CHECK_STR(counted->key_id, "counted");
    key_unhold(held->use);
    budget_give(key_budget(counted), BUDGET_REPLY_BYTES, 1);
    registry_sweep(w.registry); /* frees them; the sanitizers would tell */
    world_done(&w);
}

TEST(the_grace_of_a_rotated_key_over_it_leaves_and_the_window_of_its_line_stays)
{
    const struct rate_window *rate;
    struct world w;

    world_init(&w);
    add_key(&w, w.tenant_id, "old", NULL, TIME_NULL);
    refresh(&w);
    rate = key_rate(find(&w, "old", NOW));
    key_unhold(find(&w, "old", NOW)->use);
    rotate(&w, "old", "new");
    refresh(&w);
    clock_advance_us(KEY_GRACE_US);
    registry_sweep(w.registry);
    CHECK(!knows(&w, "old"));
    registry_sweep(w.registry);
    CHECK(key_rate(find(&w, "new", NOW)) == rate);
    world_done(&w);
}

/* Of more keys than are taken at a time, all are used again before each turn. */
TEST(each_key_that_was_used_has_its_turn_to_be_stored)
{
    enum { KEYS = 20, AT_A_TIME = 7 };
    const struct key_entry *taken[AT_A_TIME];
    size_t turns[KEYS] = { 0 };
    char names[KEYS][2] = { 0 };
    struct world w;

    world_init(&w);
    for (int i = 0; i < KEYS; i++) {
        names[i][0] = (char)('a' + i);
        add_key(&w, w.tenant_id, names[i], NULL, TIME_NULL);
    }
    refresh(&w);
    for (int64_t turn = 1; turn <= KEYS; turn++) {
        for (int i = 0; i < KEYS; i++)
            key_use_remember(find(&w, names[i], NOW)->use, turn * USEC_PER_SEC);
        CHECK_INT((int64_t)registry_take_used(w.registry, taken, AT_A_TIME), AT_A_TIME);
        for (int i = 0; i < AT_A_TIME; i++) {
            turns[taken[i]->key_id.data[0] - 'a']++;
            key_unhold(taken[i]->use);
        }
    }
    for (int i = 0; i < KEYS; i++)
        CHECK_INT((int64_t)turns[i], AT_A_TIME);
    world_done(&w);
}

struct told {
    int64_t n, tenant_id, agent_id; /* agent_id is -1 for directives */
};

static void note_agent(void *ctx, int64_t tenant_id, int64_t agent_id)
{
    struct told *told = ctx;

    *told = (struct told){ told->n + 1, tenant_id, agent_id };
}

static void note_directives(void *ctx, int64_t tenant_id)
{
    note_agent(ctx, tenant_id, -1);
}

TEST(a_change_tells_that_it_is_about_schedules)
{
    struct registry_abouts abouts = { .on_agent = note_agent, .on_directives = note_directives };
    struct change_span span;
    struct world w;

    world_init(&w);
    CHECK(registry_load_number(w.db, &span.after, NULL) == 0);
    changed(&w);
    CHECK(registry_load_number(w.db, &span.until, NULL) == 0);
    CHECK(registry_load_abouts(w.db, span, &abouts, NULL) == 0);
    CHECK(!abouts.schedules);
    CHECK(registry_about_schedules(w.db, w.tenant_id, NULL) == 0);
    CHECK(registry_load_abouts(w.db, span, &abouts, NULL) == 0);
    CHECK(abouts.schedules && !abouts.any_agents && !abouts.any_directives);
    world_done(&w);
}

/* *ret_all: they may be about all. */
static struct told abouts(struct world *w, int64_t after, bool *ret_all)
{
    struct change_span span = { .after = after };
    struct told told = { 0 };
    struct registry_abouts abouts = { note_agent, note_directives, &told, false, false, false };

    CHECK(registry_load_number(w->db, &span.until, NULL) == 0);
    CHECK(registry_load_abouts(w->db, span, &abouts, NULL) == 0);
    CHECK(abouts.any_agents == abouts.any_directives && abouts.any_agents == abouts.schedules);
    *ret_all = abouts.any_agents;
    return told;
}

TEST(a_change_tells_what_it_is_about_and_one_that_does_not_tell_may_be_about_all)
{
    static const struct db_query bump = {
        .sql = "UPDATE change_numbers SET number = number + 1 WHERE topic = 'registry'"
    };
    enum { MANY = 1024 };
    int64_t first, since;
    struct told told;
    struct world w;
    bool all;

    world_init(&w);
    CHECK(registry_load_number(w.db, &first, NULL) == 0);
    changed(&w);
    changed(&w);
    CHECK(registry_about_agent(w.db, 5, 7, NULL) == 0);
    changed(&w);
    told = abouts(&w, first, &all);
    CHECK(!all && told.n == 1 && told.tenant_id == 5 && told.agent_id == 7);
    CHECK(abouts(&w, first + 2, &all).n == 0 && !all);
    changed(&w);
    CHECK(registry_about_directives(w.db, 6, NULL) == 0);
    told = abouts(&w, first, &all);
    CHECK(!all && told.n == 2 && told.tenant_id == 6 && told.agent_id == -1);
    CHECK(db_run(w.db, &bump, DB_NO_ARGS, NULL) == 0); /* by a program that tells nothing */
    CHECK(abouts(&w, first, &all).n == 2 && all);
    CHECK(registry_load_number(w.db, &since, NULL) == 0);
    for (int i = 0; i < MANY; i++)
        changed(&w);
    CHECK(abouts(&w, since, &all).n == 0 && !all);
    changed(&w); /* in the slot of the first of them */
    CHECK(abouts(&w, since, &all).n == 0 && all);
    world_done(&w);
}

TEST(keys_in_use_are_counted_by_an_index_of_these_alone)
{
    plan_check(&keys_in_use_query, DB_ARGS(db_int(1)),
               "SEARCH keys USING INDEX keys_in_use (tenant_id=?)\n");
}
