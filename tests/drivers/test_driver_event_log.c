/* test_driver_event_log.c - every database tells the same story of the same events. */
#include "hooks/fault.h"
#include "story.h"
#include "suite.h"

TEST(whatever_happens_to_transactions_the_log_has_what_was_committed)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct story s;

        story_init(&s, suite_open(suite_new_database(), DB_WRITER), seed);
        for (int i = 0; i < 40; i++) {
            story_live(&s);
            if (i % 8 == 7)
                story_check(&s);
        }
        story_reopen(&s);
        story_check(&s);
        CHECK(s.duplicates > 300);
        CHECK(s.n_committed > 500);
        story_done(&s);
    }
}

/* Begin, what add() does, commit: whichever fails, all of it is as if it had never been. */
TEST(a_batch_is_stored_whole_or_not_at_all)
{
    int fired_most = 0;
    struct story s;

    story_init(&s, suite_open(suite_new_database(), DB_WRITER), 21);
    for (int round = 0; round < 4; round++) {
        struct story_event events[12];
        bool fired = true;

        for (size_t i = 0; i < COUNT_OF(events); i++)
            events[i] = story_event(&s);
        for (int nth = 0; fired; nth++) {
            struct db *db = db_fault_new(s.db, nth, ERR_FULL);
            struct error err = { 0 };
            int r = story_append(&s, db, events, COUNT_OF(events), &err);

            fired = db_fault_fired(db);
            CHECK_INT(r, fired ? -1 : 0);
            CHECK_INT(err.code, fired ? ERR_FULL : ERR_NONE);
            db_close(db);
            story_check(&s);
            fired_most = nth > fired_most ? nth : fired_most;
        }
    }
    CHECK(fired_most >= 6); /* a handful of statements on PostgreSQL, dozens on SQLite */
    story_done(&s);
}

/* --- what makes two events one --- */

static struct story_event event_of(struct story *s, int tenant, int run, int id)
{
    struct story_event e = story_event(s);

    e.tenant = tenant;
    e.run = run;
    e.id = id;
    e.event.run_id = arena_printf(&s->arena, "3f2b8c1e-9a4d-4e6f-8b7a-%012d", run);
    e.event.event_id = id == 0 ? STR_LIT("") : arena_printf(&s->arena, "%d", id);
    return e;
}

static size_t stored_after(struct story *s, const struct story_event *events, size_t n)
{
    size_t before = s->n;
    struct error err = { 0 };

    story_must(story_append(s, s->db, events, n, &err), &err);
    story_check(s);
    return s->n - before;
}

TEST(the_same_id_is_the_same_event_within_a_tenant_only)
{
    struct story s;
    struct story_event events[8];

    story_init(&s, suite_open(suite_new_database(), DB_WRITER), 5);
    events[0] = event_of(&s, 0, 0, 1);
    events[1] = event_of(&s, 0, 0, 1); /* twice in one call, with another body */
    events[2] = event_of(&s, 0, 1, 1); /* and under another run */
    events[3] = event_of(&s, 1, 0, 1); /* another tenant's */
    CHECK_INT(stored_after(&s, events, 4), 2);
    CHECK_INT(story_run_no(&s, 0, 1), 0); /* a duplicate makes no run */
    CHECK_INT(stored_after(&s, events, 4), 0);
    story_reopen(&s);
    CHECK_INT(stored_after(&s, events, 4), 0);
    for (size_t i = 0; i < COUNT_OF(events); i++)
        events[i] = event_of(&s, 0, 0, 0); /* without an id each is one of its own */
    CHECK_INT(stored_after(&s, events, 8), 8);
    CHECK_INT(stored_after(&s, events, 8), 8);
    CHECK_INT(stored_after(&s, events, 0), 0);
    story_done(&s);
}

TEST(two_calls_in_one_transaction_know_of_each_other)
{
    struct story s;
    struct story_event events[2];
    struct error err = { 0 };

    story_init(&s, suite_open(suite_new_database(), DB_WRITER), 5);
    events[0] = event_of(&s, 0, 0, 1);
    events[1] = event_of(&s, 0, 0, 2);
    for (int end = 0; end < 2; end++) { /* undone the first time */
        story_must(db_begin(s.db, &err), &err);
        story_must(story_add(&s, s.db, events, 1, &err), &err);
        story_must(story_add(&s, s.db, events, 2, &err), &err);
        CHECK_INT(s.n, 2);
        story_must(s.log->methods->save(s.log, s.db, &err), &err);
        if (end == 0) {
            db_rollback(s.db);
            s.log->methods->rolled_back(s.log);
            s.n = 0;
        } else {
            story_must(db_commit(s.db, &err), &err);
            story_committed(&s);
        }
        story_check(&s);
    }
    story_done(&s);
}
