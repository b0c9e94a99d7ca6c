/* test_followed.c - what a change number says, and of which history. */
#include "db/driver.h"
#include "db/followed.h"
#include "test.h"

static const struct db_driver driver = { 0 };

/* The verdict of a number from this server. */
static int judge(struct followed *f, struct db_origin origin, bool citus, int64_t number)
{
    struct db db = { .driver = &driver, .origin = origin, .distributed = citus };

    return (int)followed_judge(f, &db, number);
}

static void take(struct followed *f, struct db_origin origin, bool citus, int64_t number)
{
    struct db db = { .driver = &driver, .origin = origin, .distributed = citus };

    followed_take(f, &db, number);
}

#define ORIGIN(system, timeline, started, database) { system, timeline, started, database }

TEST(a_number_counts_in_its_history_only)
{
    static const struct {
        struct db_origin origin;
        int64_t number;
        int on_one_server, on_citus;
    } rows[] = {
        /* after a load of ORIGIN(1, 2, 3, 4) with the number 100 */
        { ORIGIN(1, 2, 3, 4), 100, FOLLOWED_HOLDS, FOLLOWED_HOLDS },
        { ORIGIN(1, 2, 3, 4), 101, FOLLOWED_CHANGED, FOLLOWED_CHANGED },
        { ORIGIN(1, 2, 3, 4), 99, FOLLOWED_WHOLE, FOLLOWED_WHOLE }, /* put back by hand */
        { ORIGIN(1, 3, 3, 4), 99, FOLLOWED_WHOLE, FOLLOWED_WHOLE }, /* a standby took over */
        { ORIGIN(1, 3, 3, 4), 100, FOLLOWED_WHOLE, FOLLOWED_WHOLE },
        { ORIGIN(1, 3, 3, 4), 101, FOLLOWED_WHOLE, FOLLOWED_WHOLE },
        { ORIGIN(1, 2, 9, 4), 100, FOLLOWED_WHOLE, FOLLOWED_WHOLE }, /* started again */
        { ORIGIN(1, 2, 9, 4), 99, FOLLOWED_WHOLE, FOLLOWED_WHOLE },
        { ORIGIN(1, 2, 3, 9), 100, FOLLOWED_WHOLE, FOLLOWED_WHOLE }, /* created again */
        { ORIGIN(1, 2, 3, 9), 99, FOLLOWED_WHOLE, FOLLOWED_WHOLE },
        { ORIGIN(9, 1, 3, 4), 99, FOLLOWED_WHOLE, FOLLOWED_HOLDS }, /* another one, which is late */
        { ORIGIN(9, 1, 3, 4), 101, FOLLOWED_WHOLE, FOLLOWED_CHANGED },
    };
    static const struct db_origin loaded = ORIGIN(1, 2, 3, 4);

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (int citus = 0; citus < 2; citus++) {
            struct followed f = { 0 };

            CHECK_INT(judge(&f, loaded, citus, 100), FOLLOWED_WHOLE); /* the first time */
            take(&f, loaded, citus, 100);
            CHECK_INT(judge(&f, rows[i].origin, citus, rows[i].number),
                      citus ? rows[i].on_citus : rows[i].on_one_server);
        }
}

TEST(a_history_that_was_loaded_is_the_one_to_compare_with)
{
    static const struct db_origin before = ORIGIN(1, 1, 1, 1), after = ORIGIN(1, 2, 1, 1);
    struct followed f = { 0 };

    take(&f, before, false, 105);
    CHECK_INT(judge(&f, after, false, 100), FOLLOWED_WHOLE);
    CHECK_INT(judge(&f, after, false, 100), FOLLOWED_WHOLE); /* until it is loaded */
    take(&f, after, false, 100);
    CHECK_INT(judge(&f, after, false, 100), FOLLOWED_HOLDS);
    CHECK_INT(judge(&f, after, false, 101), FOLLOWED_CHANGED);
}

/* Of all that answer; each has a history of its own. */
TEST(the_servers_of_citus_are_told_apart)
{
    static const struct db_origin a = ORIGIN(1, 1, 1, 1), b = ORIGIN(2, 5, 1, 1);
    static const struct db_origin b_promoted = ORIGIN(2, 6, 1, 1);
    struct followed f = { 0 };

    take(&f, a, true, 100);
    CHECK_INT(judge(&f, b, true, 100), FOLLOWED_HOLDS);
    for (int i = 0; i < 3; i++) { /* in turn, without loading everything */
        CHECK_INT(judge(&f, a, true, 100), FOLLOWED_HOLDS);
        CHECK_INT(judge(&f, b, true, 100), FOLLOWED_HOLDS);
    }
    CHECK_INT(judge(&f, a, true, 101), FOLLOWED_CHANGED);
    take(&f, a, true, 101);
    CHECK_INT(judge(&f, b, true, 100), FOLLOWED_HOLDS); /* it is late */
    CHECK_INT(judge(&f, b, true, 99), FOLLOWED_WHOLE);  /* it has lost one */
    CHECK_INT(judge(&f, b_promoted, true, 90), FOLLOWED_WHOLE);
    take(&f, b_promoted, true, 90);
    for (int64_t i = 10; i < 10 + 2 * FOLLOWED_SERVERS; i++) /* a bounded number of them */
        CHECK_INT(judge(&f, (struct db_origin){ .system = i }, true, 90), FOLLOWED_HOLDS);
}

/* As a role that may not ask: by numbers alone, and beside one that may it undoes nothing. */
TEST(a_connection_that_does_not_tell_where_it_is_from_counts_by_its_number)
{
    static const struct db_origin told = ORIGIN(1, 1, 1, 1), later = ORIGIN(1, 2, 1, 1);
    static const struct db_origin untold = { 0 };
    struct followed f = { 0 };

    take(&f, untold, false, 100);
    CHECK_INT(judge(&f, untold, false, 100), FOLLOWED_HOLDS);
    CHECK_INT(judge(&f, untold, false, 101), FOLLOWED_CHANGED);
    CHECK_INT(judge(&f, untold, false, 99), FOLLOWED_WHOLE);
    take(&f, told, false, 100);
    for (int i = 0; i < 3; i++) { /* in turn, without loading everything */
        CHECK_INT(judge(&f, untold, false, 100), FOLLOWED_HOLDS);
        CHECK_INT(judge(&f, told, false, 100), FOLLOWED_HOLDS);
    }
    CHECK_INT(judge(&f, untold, false, 99), FOLLOWED_HOLDS);
    CHECK_INT(judge(&f, untold, false, 101), FOLLOWED_CHANGED);
    take(&f, untold, false, 101);
    CHECK_INT(judge(&f, later, false, 101), FOLLOWED_WHOLE); /* it is not forgotten */
}
