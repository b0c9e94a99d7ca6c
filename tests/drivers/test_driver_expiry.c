/* test_driver_expiry.c - what is deleted is what a plain list says, on every database. */
#include "features/events/shapes.h"
#include "features/retention/expiry_store.h"
#include "story.h"
#include "suite.h"

static const int64_t epoch = 1735787045000000, pause = 1000700; /* of the story's timestamps */

static const struct db_query count_events = { .sql = "SELECT COUNT(*) FROM events" };
static const struct db_query count_gone = { .sql = "SELECT COUNT(*) FROM gone_runs" };
static const struct db_query count_lost = {
    .sqlite = "SELECT COUNT(*) FROM run_extents WHERE run_no NOT IN (SELECT run_no FROM runs)",
    .postgres = "SELECT COUNT(*) FROM runs WHERE event_count = 0",
};

/* The list's own idea of a run. */
struct told_run {
    bool there;
    int agent; /* that started it, else of its first event */
    struct run_state state;
    struct str run_id;
};

static void tell_runs(const struct story *s, int tenant, struct told_run runs[STORY_RUNS])
{
    memset(runs, 0, STORY_RUNS * sizeof(*runs));
    for (size_t i = 0; i < s->n_committed; i++) {
        const struct story_event *e = &s->stored[i];
        struct told_run *run = &runs[e->run];

        if (e->tenant != tenant)
            continue;
        if (!run->there) {
            *run = (struct told_run){ .there = true, .agent = e->agent, .run_id = e->event.run_id };
            run_state_init(&run->state);
        }
        if (e->event.event == EVENT_STARTED && run->state.started_at == TIME_NULL)
            run->agent = e->agent;
        run_state_add(&run->state, &e->event);
    }
}

static bool is_failed(const struct told_run *run)
{
    return run->there && run_state_status(&run->state) == RUN_FAILED;
}

static int newer_failures(const struct told_run runs[STORY_RUNS], const struct told_run *run)
{
    int n = 0;

    for (int i = 0; i < STORY_RUNS; i++) {
        int64_t other = run_state_start(&runs[i].state), own = run_state_start(&run->state);

        if (is_failed(&runs[i]) && runs[i].agent == run->agent &&
            (other > own || (other == own && str_cmp(runs[i].run_id, run->run_id) > 0)))
            n++;
    }
    return n;
}

static bool goes(const struct told_run runs[STORY_RUNS], const struct told_run *run,
                 const struct expiry_runs *which)
{
    if (!run->there || run->state.last_at >= which->before)
        return false;
    if (run_state_status(&run->state) == RUN_IN_PROGRESS)
        return run->state.last_at < which->open_before;
    return !is_failed(run) || newer_failures(runs, run) >= which->keep_failed;
}

/* Takes what must go out of the list; how many runs those are. */
static int forget(struct story *s, int tenant, const struct expiry_runs *which)
{
    struct told_run runs[STORY_RUNS];
    size_t kept = 0;
    int n = 0;
    bool gone[STORY_RUNS];

    tell_runs(s, tenant, runs);
    for (int i = 0; i < STORY_RUNS; i++) {
        gone[i] = goes(runs, &runs[i], which);
        n += gone[i];
        if (gone[i])
            s->run_nos[tenant][i] = 0;
    }
    for (size_t i = 0; i < s->n_committed; i++)
        if (s->stored[i].tenant != tenant || !gone[s->stored[i].run])
            s->stored[kept++] = s->stored[i];
    s->n = s->n_committed = kept;
    return n;
}

/* One transaction; some are rolled back and done again. */
static int story_expire_window(struct story *s, struct expiry_runs *which, struct arena *arena,
                               bool *ret_more)
{
    bool fails = random_percent(&s->random, 30);
    struct expired_runs expired;
    struct error err = { 0 };

    story_must(db_begin(s->db, &err), &err);
    story_must(expire_runs(s->db, which, arena, &expired, &err), &err);
    for (size_t i = 0; i < expired.runs.n; i++)
        s->log->methods->run_gone(s->log, which->tenant_id,
                                  ((const struct gone_run *)expired.runs.items)[i].run_id);
    *ret_more = true;
    if (fails) {
        db_rollback(s->db);
        s->log->methods->rolled_back(s->log);
        return 0;
    }
    story_must(db_commit(s->db, &err), &err);
    s->log->methods->committed(s->log, NULL, 0);
    *ret_more = expired.more;
    which->at = expired.at;
    return (int)expired.runs.n;
}

static bool story_expire_events(struct story *s, int64_t tenant_id, int64_t max)
{
    struct expired_reports expired;
    struct error err = { 0 };

    story_must(db_begin(s->db, &err), &err);
    story_must(expire_events(s->db, tenant_id, max, &expired, &err), &err);
    story_must(db_commit(s->db, &err), &err);
    CHECK(expired.rows <= max);
    return expired.rows == max;
}

static int expire(struct story *s)
{
    struct random *r = &s->random;
    int tenant = (int)random_below(r, STORY_TENANTS);
    struct expiry_runs which = { .tenant_id = s->tenant_ids[tenant],
                                 .before = epoch + (int64_t)(2 + random_below(r, 5)) * pause,
                                 .keep_failed = (int64_t)random_below(r, 3),
                                 .at = { INT64_MIN, RUN_ID_FIRST },
                                 .window = 1 + (int64_t)random_below(r, 12),
                                 .now_us = epoch };
    int64_t portion = 1 + (int64_t)random_below(r, 30);
    bool more = true;
    struct arena arena;
    int n = 0;

    which.open_before = which.before - (int64_t)random_below(r, 3) * pause;
    arena_init(&arena);
    while (more) {
        n += story_expire_window(s, &which, &arena, &more);
        if (random_percent(r, 50))
            (void)story_expire_events(s, which.tenant_id, portion);
        if (random_percent(r, 20))
            story_reopen(s);
    }
    while (story_expire_events(s, which.tenant_id, portion))
        continue;
    CHECK_INT(n, forget(s, tenant, &which));
    arena_done(&arena);
    return n;
}

TEST(what_is_too_old_goes_and_its_ids_are_free_again)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct story s;
        int n = 0;

        story_init(&s, suite_open(suite_new_database(), DB_WRITER), seed);
        for (int i = 0; i < 40; i++) {
            struct story_event events[6];
            struct error err = { 0 };

            for (size_t k = 0; k < COUNT_OF(events); k++)
                events[k] = story_event(&s);
            story_must(story_append(&s, s.db, events, 1 + (size_t)i % COUNT_OF(events), &err),
                       &err);
            if (i % 10 == 9)
                story_live(&s);
            story_check(&s);
            n += expire(&s);
            story_check(&s);
            CHECK_INT(suite_int(s.db, &count_events), (int64_t)s.n_committed);
            CHECK_INT(suite_int(s.db, &count_gone), 0);
            CHECK_INT(suite_int(s.db, &count_lost), 0);
        }
        CHECK(n > 40);
        story_done(&s);
    }
}

/* The last run and event of all go, and a start comes: the next ones get other numbers. */
TEST(no_number_is_given_twice)
{
    struct story s;

    story_init(&s, suite_open(suite_new_database(), DB_WRITER), 3);
    for (int64_t before = 0, i = 0; i < 3; i++) {
        struct expiry_runs which = { .tenant_id = s.tenant_ids[0],
                                     .before = INT64_MAX,
                                     .open_before = INT64_MAX,
                                     .at = { INT64_MIN, RUN_ID_FIRST },
                                     .window = 10 };
        struct story_event event = story_event(&s);
        struct error err = { 0 };
        bool more;

        event.tenant = 0;
        story_must(story_append(&s, s.db, &event, 1, &err), &err);
        CHECK(story_run_no(&s, 0, event.run) > before);
        before = story_run_no(&s, 0, event.run);
        do
            (void)story_expire_window(&s, &which, &s.arena, &more);
        while (more);
        CHECK(!story_expire_events(&s, which.tenant_id, 10));
        CHECK_INT(story_run_no(&s, 0, event.run), 0);
        s.n = s.n_committed = 0;
        story_reopen(&s);
    }
    story_done(&s);
}
