/* test_known_agents.c - which agents a writer remembers, and which make room for others. */
#include "features/agents/known_agents.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "shape/shape.h"
#include "unit/temp_db.h"

enum { MAX = 1000, ROUNDS = 20 };

#define NOW_US  (1000000 * (int64_t)USEC_PER_SEC)
#define LONG_US (3600 * (int64_t)USEC_PER_SEC)

static struct str key_of(struct known_agent_key *room, int64_t tenant_id, int number)
{
    char name[16];
    int len = snprintf(name, sizeof(name), "a%d", number);

    return known_agents_key(tenant_id, str_from(name, (size_t)len), room);
}

static bool is_known(const struct known_agents *k, int64_t tenant_id, int number)
{
    struct known_agent_key room;

    return known_agents_find(k, key_of(&room, tenant_id, number)) != NULL;
}

static int count(const struct known_agents *k, int64_t tenant_id, int n)
{
    int known = 0;

    for (int i = 0; i < n; i++)
        known += is_known(k, tenant_id, i);
    return known;
}

/* A transaction of its own for each, as between the reports of a fleet. */
static void see(struct known_agents *k, int64_t tenant_id, int number, int64_t at)
{
    struct known_agent_key room;
    struct str key = key_of(&room, tenant_id, number);

    known_agents_trim(k, at);
    known_agents_put(k, key)->last_seen_at = at;
    known_agents_keep_recent(k);
}

static void init(struct known_agents *k)
{
    digest_init();
    known_agents_init(k, MAX);
}

TEST(a_tenant_with_ever_new_names_pushes_out_its_own_agents_alone)
{
    struct known_agents k;

    init(&k);
    for (int64_t tenant = 1; tenant <= 3; tenant++)
        for (int i = 0; i < 100; i++)
            see(&k, tenant, i, NOW_US);
    for (int i = 0; i < ROUNDS * MAX; i++)
        see(&k, 9, i, NOW_US);
    for (int64_t tenant = 1; tenant <= 3; tenant++)
        CHECK_INT(count(&k, tenant, 100), 100);
    known_agents_trim(&k, NOW_US);
    CHECK_INT(k.agents.n, MAX);
    CHECK_INT(count(&k, 9, ROUNDS * MAX), MAX - 300);
    known_agents_done(&k);
}

/* Two such tenants share what is left, whoever of them came first. */
TEST(tenants_with_too_many_agents_have_equal_shares)
{
    struct known_agents k;

    init(&k);
    for (int i = 0; i < 100; i++)
        see(&k, 1, i, NOW_US);
    for (int i = 0; i < 2 * MAX; i++)
        see(&k, 2, i, NOW_US);
    for (int i = 0; i < 2 * MAX; i++)
        see(&k, 3, i, NOW_US);
    known_agents_trim(&k, NOW_US);
    CHECK_INT(count(&k, 1, 100), 100);
    CHECK_INT(count(&k, 2, 2 * MAX), 450);
    CHECK_INT(count(&k, 3, 2 * MAX), 450);
    known_agents_done(&k);
}

/* A fleet of a tenth more than there is room for reports in turn: most are still known. Whoever
 * forgets the oldest finds none. */
TEST(a_fleet_beyond_the_bound_is_still_known_for_the_most_part)
{
    enum { FLEET = MAX + MAX / 10 };
    struct known_agents k;
    int found = 0;

    init(&k);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < FLEET; i++) {
            found += round > 1 && is_known(&k, 1, i);
            see(&k, 1, i, NOW_US);
        }
    CHECK(found > (ROUNDS - 2) * FLEET * 7 / 10);
    CHECK(found < (ROUNDS - 2) * FLEET);
    known_agents_done(&k);
}

/* Names that are no longer used, of many small tenants, do not keep a large fleet out. */
TEST(agents_that_have_not_reported_for_long_make_room_first)
{
    enum { FLEET = MAX / 2 };
    struct known_agents k;

    init(&k);
    for (int64_t tenant = 1; tenant <= MAX; tenant++)
        see(&k, tenant, 0, NOW_US - LONG_US);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < FLEET; i++)
            see(&k, MAX + 1, i, NOW_US);
    known_agents_trim(&k, NOW_US);
    CHECK_INT(count(&k, MAX + 1, FLEET), FLEET);
    CHECK_INT(k.agents.n, MAX);
    known_agents_done(&k);
}

/* A tenant that once sent very many names does not cost small ones theirs, which report daily, nor
 * when another has become larger. */
TEST(idle_agents_of_the_largest_tenant_make_room_before_those_of_others)
{
    enum { SMALL = 20, EACH = 5, LARGE = MAX - SMALL * EACH, NEW = LARGE * 2 / 3 };
    struct known_agents k;

    init(&k);
    for (int64_t tenant = 1; tenant <= SMALL; tenant++)
        for (int i = 0; i < EACH; i++)
            see(&k, tenant, i, NOW_US - LONG_US);
    for (int i = 0; i < LARGE; i++)
        see(&k, SMALL + 1, i, NOW_US - LONG_US);
    for (int i = 0; i < NEW; i++)
        see(&k, SMALL + 2, i, NOW_US);
    known_agents_trim(&k, NOW_US);
    for (int64_t tenant = 1; tenant <= SMALL; tenant++)
        CHECK_INT(count(&k, tenant, EACH), EACH);
    CHECK_INT(count(&k, SMALL + 1, LARGE), LARGE - NEW);
    CHECK_INT(count(&k, SMALL + 2, NEW), NEW);
    known_agents_done(&k);
}

TEST(a_rollback_forgets_what_its_transaction_found_and_nothing_else)
{
    struct known_agents k;
    struct known_agent_key room;

    init(&k);
    see(&k, 1, 0, NOW_US);
    see(&k, 1, 1, NOW_US);
    (void)known_agents_put(&k, key_of(&room, 1, 2));
    (void)known_agents_put(&k, key_of(&room, 2, 0));
    known_agents_note_recent(&k, known_agents_find(&k, key_of(&room, 1, 1)));
    known_agents_forget_recent(&k);
    CHECK_INT(count(&k, 1, 3), 1);
    CHECK(is_known(&k, 1, 0) && !is_known(&k, 2, 0));
    known_agents_forget_recent(&k);
    CHECK_INT(k.agents.n, 1);
    known_agents_forget_all(&k);
    CHECK_INT(k.agents.n + k.n_tenants, 0);
    known_agents_done(&k);
}

TEST(an_agent_that_is_gone_is_forgotten_whether_its_transaction_found_it_or_an_earlier_one)
{
    struct known_agents k;
    struct known_agent_key room;

    init(&k);
    see(&k, 1, 0, NOW_US);
    see(&k, 1, 1, NOW_US);
    for (int i = 2; i < 5; i++)
        (void)known_agents_put(&k, key_of(&room, 1, i));
    known_agents_remove(&k, key_of(&room, 1, 0));
    known_agents_remove(&k, key_of(&room, 1, 2));
    known_agents_remove(&k, key_of(&room, 1, 9));
    CHECK(!is_known(&k, 1, 0) && !is_known(&k, 1, 2));
    CHECK_INT(k.agents.n, 3);
    known_agents_forget_recent(&k); /* without those that are gone already */
    CHECK(is_known(&k, 1, 1));
    CHECK_INT(k.agents.n, 1);
    known_agents_done(&k);
}

/* Names may be as long as a body, and the bound is one of agents. */
TEST(a_key_is_short_however_long_the_name_and_tells_names_and_tenants_apart)
{
    enum { LONG = 1000000, NAMES = 200, KEYS = NAMES + 3 };
    struct known_agent_key rooms[KEYS];
    char *name = mem_new(LONG);
    struct str keys[KEYS];

    digest_init();
    memset(name, 'n', LONG);
    for (size_t i = 0; i < NAMES; i++)
        keys[i] = known_agents_key(1, str_from(name, i), &rooms[i]);
    keys[NAMES] = known_agents_key(1, str_from(name, LONG), &rooms[NAMES]);
    keys[NAMES + 1] = known_agents_key(2, str_from(name, LONG), &rooms[NAMES + 1]);
    name[LONG - 1] = 'm';
    keys[NAMES + 2] = known_agents_key(1, str_from(name, LONG), &rooms[NAMES + 2]);
    for (size_t i = 0; i < KEYS; i++) {
        CHECK(keys[i].len <= 128);
        for (size_t j = 0; j < i; j++)
            CHECK(!str_eq(keys[i], keys[j]));
    }
    free(name);
}
