/* test_servers.c - who has a tenant, and what a circuit breaker lets through. */
#include "db/servers.h"

#include "base/clock.h"
#include "db/driver.h"
#include "test.h"

/* Of a PostgreSQL: what its workers show with hashint8(). */
TEST(a_tenant_is_hashed_as_postgresql_does)
{
    static const struct {
        int64_t tenant;
        int32_t hash;
    } rows[] = { { 1, -1905060026 },
                 { 2, 1134484726 },
                 { 0, -272711505 },
                 { -1, 385747274 },
                 { INT64_C(4294967296), -1905060026 },
                 { INT64_C(-5000000000), 954517114 },
                 { INT64_C(9223372036854775807), -1524351049 } };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        CHECK_INT(servers_hash(rows[i].tenant), rows[i].hash);
}

/* Two servers, of which the first has the tenants with a negative hash. */
static struct db distributed(const char *url)
{
    static const struct place_range ranges[] = { { INT32_MIN, -1, 1 }, { 0, INT32_MAX, 2 } };
    struct db db = { .servers = servers_of(url), .distributed = true };

    servers_set_ranges(db.servers, ranges, COUNT_OF(ranges));
    return db;
}

TEST(each_tenant_has_a_place_and_several_have_none)
{
    const struct db db = distributed("places"), one = { .servers = servers_of("one") };
    const struct db embedded = { 0 };

    for (int64_t tenant = 1; tenant < 100; tenant++) {
        CHECK_INT(db_place_of(&db, tenant), servers_hash(tenant) < 0 ? 1 : 2);
        CHECK_INT(db_place_of(&one, tenant), 0);
    }
    CHECK_INT(db_place_of(&db, 0), 0);
    CHECK_INT(db_place_of(&embedded, 1), 0);
    CHECK(!db_is_away(&embedded, 0) && !db_any_is_away(&embedded) && !db_all_are_away(&embedded));
}

static void pass(int64_t seconds)
{
    atomic_fetch_add(&clock_raw_shift_us, seconds * USEC_PER_SEC);
}

TEST(a_breaker_opens_lets_one_try_and_closes)
{
    const struct db db = { .servers = servers_of("breaker") };
    struct servers *s = db.servers;

    CHECK(servers_may_begin(s, 0, true) && servers_may_begin(s, 0, true));
    servers_note(s, 0, true, MET_SILENCE);
    CHECK(!servers_may_begin(s, 0, true) && db_is_away(&db, 0));
    CHECK(servers_may_begin(s, 0, false)); /* reads go on */
    pass(11);
    CHECK(servers_may_begin(s, 0, true)); /* it tries, and the others wait for its verdict */
    CHECK(!servers_may_begin(s, 0, true) && db_is_away(&db, 0));
    servers_note(s, 0, true, MET_REFUSAL); /* which costs little, so it is tried again soon */
    CHECK(!servers_may_begin(s, 0, true));
    pass(2);
    CHECK(servers_may_begin(s, 0, true) && !servers_may_begin(s, 0, true));
    pass(16); /* its verdict is lost */
    CHECK(servers_may_begin(s, 0, true));
    servers_note(s, 0, true, MET_ANSWER);
    CHECK(servers_may_begin(s, 0, true) && servers_may_begin(s, 0, true) && !db_is_away(&db, 0));
    CHECK(servers_of("breaker") == s && servers_of("another") != s);
}

TEST(a_server_that_is_slow_again_and_again_is_away_and_one_that_is_slow_now_and_then_is_not)
{
    const struct db db = distributed("slow");
    struct servers *s = db.servers;

    for (int i = 0; i < 10; i++) {
        servers_note(s, 1, false, MET_SLOW);
        servers_note(s, 1, false, MET_SLOW);
        servers_note(s, 1, false, MET_ANSWER);
    }
    CHECK(servers_may_begin(s, 1, false));
    for (int i = 0; i < 3; i++)
        servers_note(s, 1, false, MET_SLOW);
    CHECK(!servers_may_begin(s, 1, false));
}

TEST(a_worker_that_is_away_fails_its_own_tenants_and_what_is_written_for_several)
{
    const struct db db = distributed("workers");
    struct servers *s = db.servers;

    servers_note(s, 0, true, MET_SILENCE); /* it is not known which */
    CHECK(servers_may_begin(s, 0, true) && !db_any_is_away(&db));
    servers_note(s, 1, true, MET_SILENCE);
    CHECK(!servers_may_begin(s, 1, true) && db_is_away(&db, 1) && db_any_is_away(&db));
    CHECK(servers_may_begin(s, 2, true) && !db_is_away(&db, 2) && !db_all_are_away(&db));
    CHECK(!servers_may_begin(s, 0, true) && servers_may_begin(s, 0, false));
    pass(11);
    CHECK(!db_any_is_away(&db)); /* perhaps nothing is sent for it */
    CHECK(servers_may_begin(s, 0, true));
    servers_note(s, 0, true, MET_SILENCE); /* it was that one */
    CHECK(!servers_may_begin(s, 1, true));
    pass(11);
    CHECK(servers_may_begin(s, 1, true));
    servers_note(s, 1, true, MET_ANSWER);
    servers_note(s, 2, true, MET_REFUSAL);
    CHECK(!db_all_are_away(&db));
    servers_note(s, 1, true, MET_REFUSAL);
    CHECK(db_all_are_away(&db));
}

TEST(a_former_primary_is_known_by_its_timeline)
{
    struct servers *s = servers_of("timeline");

    CHECK(servers_check_timeline(s, 0, 1) && servers_check_timeline(s, 0, 2));
    CHECK(!servers_check_timeline(s, 0, 1));
    CHECK(servers_check_timeline(s, 0, 0)); /* it does not tell */
    CHECK(servers_check_timeline(s, 1, 1)); /* another server of Citus */
    CHECK(servers_check_timeline(s, 0, 2));
}
