/* test_throttle.c - how many failed log-ins are allowed. */
#include <stdio.h>

#include "base/clock.h"
#include "base/digest.h"
#include "features/users/throttle.h"
#include "test.h"

static const int64_t minute_us = (int64_t)60 * USEC_PER_SEC;

static const int64_t window_us = (int64_t)THROTTLE_WINDOW_S * USEC_PER_SEC;

static struct throttle *new_throttle(void)
{
    digest_init();
    return throttle_new();
}

static struct throttle_attempt attempt_of(const char *account, const char *address)
{
    struct throttle_attempt attempt = { .account = str_of(account) };

    CHECK(address_parse(str_of(address), &attempt.from));
    return attempt;
}

static int64_t try_at(struct throttle *t, struct throttle_attempt attempt, int64_t now_us,
                      enum throttle_outcome outcome)
{
    int64_t wait_s = throttle_begin(t, &attempt, now_us);

    if (wait_s == 0)
        throttle_end(t, &attempt, now_us, outcome);
    return wait_s;
}

static int64_t fail_at(struct throttle *t, const char *account, const char *address, int64_t now_us)
{
    return try_at(t, attempt_of(account, address), now_us, ATTEMPT_FAILED);
}

TEST(the_eleventh_failure_of_an_account_waits_until_the_first_is_a_window_old)
{
    struct throttle *t = new_throttle();
    char address[32];

    for (int i = 0; i < THROTTLE_FAILURES; i++) {
        (void)snprintf(address, sizeof(address), "10.0.0.%d", i);
        CHECK_INT(fail_at(t, "a", address, i * minute_us), 0);
    }
    CHECK_INT(fail_at(t, "a", "10.0.1.1", 10 * minute_us), 5 * 60);
    CHECK_INT(fail_at(t, "b", "10.0.1.1", 10 * minute_us), 0);
    CHECK_INT(fail_at(t, "a", "10.0.1.1", window_us - 1), 1);
    CHECK_INT(fail_at(t, "a", "10.0.1.1", window_us), 0);
    CHECK_INT(fail_at(t, "a", "10.0.1.1", window_us), 60); /* the second is the oldest now */
    throttle_free(t);
}

TEST(a_success_forgets_the_account_and_not_the_address)
{
    struct throttle *t = new_throttle();

    for (int i = 0; i < THROTTLE_FAILURES - 1; i++)
        CHECK_INT(fail_at(t, "a", "10.0.0.1", 0), 0);
    CHECK_INT(try_at(t, attempt_of("a", "10.0.0.1"), 0, ATTEMPT_SUCCEEDED), 0);
    CHECK_INT(fail_at(t, "a", "10.0.0.1", 0), 0);
    for (int i = 0; i < THROTTLE_FAILURES; i++)
        CHECK_INT(fail_at(t, "a", "10.0.0.2", 0), 0);
    CHECK_INT(fail_at(t, "a", "10.0.0.3", 0), THROTTLE_WINDOW_S);
    CHECK_INT(fail_at(t, "b", "10.0.0.1", 0), THROTTLE_WINDOW_S);
    throttle_free(t);
}

TEST(attempts_under_way_count_until_they_are_decided)
{
    struct throttle *t = new_throttle();
    struct throttle_attempt attempt = attempt_of("a", "10.0.0.1");

    for (int i = 0; i < THROTTLE_FAILURES; i++)
        CHECK_INT(throttle_begin(t, &attempt, 0), 0);
    CHECK_INT(throttle_begin(t, &attempt, 0), 2); /* soon, not after the window */
    for (int i = 0; i < THROTTLE_FAILURES; i++)
        throttle_end(t, &attempt, 0, ATTEMPT_UNDECIDED);
    for (int i = 0; i < THROTTLE_FAILURES; i++)
        CHECK_INT(fail_at(t, "a", "10.0.0.1", 0), 0);
    CHECK_INT(fail_at(t, "a", "10.0.0.1", 0), THROTTLE_WINDOW_S);
    throttle_free(t);
}

/* The bound is 16,384 accounts and addresses. */
TEST(somebody_who_is_refused_cannot_push_out_what_others_did)
{
    struct throttle *t = new_throttle();
    char name[32];

    for (int i = 0; i < THROTTLE_FAILURES; i++)
        CHECK_INT(fail_at(t, "victim", "10.0.0.1", 0), 0);
    for (int i = 0; i < 17000; i++) {
        (void)snprintf(name, sizeof(name), "user-%d", i);
        CHECK(fail_at(t, name, "10.0.0.1", 0) > 0);
    }
    CHECK(fail_at(t, "victim", "10.0.0.2", 0) > 0);
    /* those who are not refused, from as many addresses, can: memory is bounded */
    for (int i = 0; i < 17000; i++) {
        (void)snprintf(name, sizeof(name), "10.1.%d.%d", i >> 8, i & 255);
        CHECK_INT(fail_at(t, name, name, 0), 0);
    }
    CHECK_INT(fail_at(t, "victim", "10.0.0.2", 0), 0);
    throttle_free(t);
}

TEST(a_known_address_has_ten_failures_of_its_own)
{
    struct throttle *t = new_throttle();

    CHECK_INT(try_at(t, attempt_of("a", "10.0.0.1"), 0, ATTEMPT_SUCCEEDED), 0);
    CHECK_INT(try_at(t, attempt_of("b", "10.0.0.2"), 0, ATTEMPT_SUCCEEDED), 0);
    for (int i = 0; i < THROTTLE_FAILURES; i++)
        CHECK_INT(fail_at(t, "a", "10.0.0.1", 0), 0);
    CHECK_INT(fail_at(t, "a", "10.0.0.1", 0), THROTTLE_WINDOW_S);
    CHECK_INT(fail_at(t, "a", "10.0.0.2", 0), 0); /* known to "b", not to "a" */
    CHECK_INT(fail_at(t, "a", "10.0.0.1", window_us), 0);
    throttle_free(t);
}

TEST(a_user_has_one_password_hashed_at_a_time)
{
    struct throttle *t = new_throttle();

    CHECK(throttle_begin_hash(t, STR_LIT("a")));
    CHECK(!throttle_begin_hash(t, STR_LIT("a")));
    CHECK(throttle_begin_hash(t, STR_LIT("b")));
    throttle_end_hash(t, STR_LIT("a"));
    CHECK(throttle_begin_hash(t, STR_LIT("a")));
    throttle_end_hash(t, STR_LIT("b"));
    throttle_end_hash(t, STR_LIT("a"));
    throttle_free(t);
}
