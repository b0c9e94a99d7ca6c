/* test_handouts.c - which secrets count as handed out, for how long, and in how much memory. */
#include "features/agents/config/handouts.h"

#include <stdio.h>

#include "base/clock.h"
#include "test.h"

enum { MANY = 200000 };

static const int64_t hour = 3600LL * USEC_PER_SEC;

static struct handout handout_of(const char *name)
{
    return (struct handout){ .tenant_id = 1,
                             .actor = STR_LIT("key:a"),
                             .origin = STR_LIT("192.0.2.1"),
                             .agent_name = STR_LIT("agent"),
                             .name = str_of(name),
                             .seal = STR_LIT("one") };
}

TEST(a_handout_holds_for_an_hour)
{
    struct handouts *h = handouts_new();
    const struct handout one = handout_of("A");

    CHECK(!handouts_has(h, &one, 5));
    handouts_add(h, &one, 5);
    CHECK(handouts_has(h, &one, 5));
    CHECK(handouts_has(h, &one, 5 + hour - 1));
    CHECK(!handouts_has(h, &one, 5 + hour));
    handouts_add(h, &one, 5 + hour);
    CHECK(handouts_has(h, &one, 5 + 2 * hour - 1));
    handouts_free(h);
    handouts_free(NULL);
}

TEST(every_part_of_a_handout_counts)
{
    struct handouts *h = handouts_new();
    const struct handout one = handout_of("A");
    struct handout others[] = { one, one, one, one, one, one };

    others[0].tenant_id = 2;
    others[1].actor = STR_LIT("key:b");
    others[2].origin = STR_LIT("192.0.2.2");
    others[3].agent_name = STR_LIT("other");
    others[4].name = STR_LIT("B");
    others[5].seal = STR_LIT("two");
    handouts_add(h, &one, 1);
    for (size_t i = 0; i < COUNT_OF(others); i++)
        CHECK(!handouts_has(h, &others[i], 1));
    handouts_free(h);
}

/* What it displaced is only entered again. */
TEST(however_many_there_are_the_newest_is_remembered)
{
    struct handouts *h = handouts_new();
    char name[20];

    for (int i = 0; i < MANY; i++) {
        struct handout one;

        (void)snprintf(name, sizeof(name), "S%d", i);
        one = handout_of(name);
        handouts_add(h, &one, 1 + i);
        CHECK(handouts_has(h, &one, 1 + i));
    }
    handouts_free(h);
}
