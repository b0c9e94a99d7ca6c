/* test_throttle.c - how many failed log-ins are allowed. */
#include <stdio.h>

#include "base/clock.h"
#include "base/digest.h"
#include "features/access/users/throttle.h"
#include "test.h"

static const int64_t minute_us = (int64_t)60 * USEC_PER_SEC;

static const int64_t window_us = (int64_t)THROTTLE_WINDOW_S * USEC_PER_SEC;

static struct throttle *new_throttle(void)
{
    digest_init();
    return throttle_new();
}

static int64_t fail_at(struct throttle *t, const char *account, const char *address, int64_t now_us)
{
    int64_t wait_s = throttle_begin(t, str_of(account), str_of(address), now_us);

    if (wait_s == 0)
        throttle_end(t, str_of(account), str_of(address), now_us, ATTEMPT_FAILED);
    return wait_s;
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

TEST(an_address_is_closed_for_all_accounts_and_one_of_the_same_name_is_not)
{
    struct throttle *t = new_throttle();
    char account[32];

    for (int i = 0; i < THROTTLE_FAILURES; i++) {
        (void)snprintf(account, sizeof(account), "user-%d", i);
        CHECK_INT(fail_at(t, account, "10.0.0.1", 0), 0);
    }
    CHECK_INT(fail_at(t, "other", "10.0.0.1", 0), THROTTLE_WINDOW_S);
    CHECK_INT(fail_at(t, "10.0.0.1", "10.0.0.2", 0), 0);
    throttle_free(t);
}

TEST(addresses_of_one_ipv6_network_are_one)
{
    struct throttle *t = new_throttle();
    char account[32], address[32];

    for (int i = 0; i < THROTTLE_FAILURES; i++) {
        (void)snprintf(account, sizeof(account), "user-%d", i);
        (void)snprintf(address, sizeof(address), "2001:db8::%d", i + 1);
        CHECK_INT(fail_at(t, account, address, 0), 0);
    }
    CHECK_INT(fail_at(t, "other", "2001:db8:0:0:ffff::1", 0), THROTTLE_WINDOW_S);
    CHECK_INT(fail_at(t, "other", "2001:db8:0:1::1", 0), 0);
    throttle_free(t);
}

TEST(a_success_forgets_the_account_and_not_the_address)
{
    struct throttle *t = new_throttle();
    struct str account = STR_LIT("a"), address = STR_LIT("10.0.0.1");

    for (int i = 0; i < THROTTLE_FAILURES - 1; i++)
        CHECK_INT(fail_at(t, "a", "10.0.0.1", 0), 0);
    CHECK_INT(throttle_begin(t, account, address, 0), 0);
    throttle_end(t, account, address, 0, ATTEMPT_SUCCEEDED);
    for (int i = 0; i < THROTTLE_FAILURES; i++)
        CHECK_INT(fail_at(t, "a", i == 0 ? "10.0.0.1" : "10.0.0.2", 0), 0);
    CHECK_INT(fail_at(t, "a", "10.0.0.3", 0), THROTTLE_WINDOW_S);
    CHECK_INT(fail_at(t, "b", "10.0.0.1", 0), THROTTLE_WINDOW_S);
    throttle_free(t);
}

TEST(attempts_under_way_count_until_they_are_decided)
{
    struct throttle *t = new_throttle();
    struct str account = STR_LIT("a"), address = STR_LIT("10.0.0.1");

    for (int i = 0; i < THROTTLE_FAILURES; i++)
        CHECK_INT(throttle_begin(t, account, address, 0), 0);
    CHECK_INT(throttle_begin(t, account, address, 0), 2); /* soon, not after the window */
    for (int i = 0; i < THROTTLE_FAILURES; i++)
        throttle_end(t, account, address, 0, ATTEMPT_UNDECIDED);
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
    for (int i = 0; i < 40000; i++) {
        (void)snprintf(name, sizeof(name), "user-%d", i);
        CHECK(fail_at(t, name, "10.0.0.1", 0) > 0);
    }
    CHECK(fail_at(t, "victim", "10.0.0.2", 0) > 0);
    /* those who are not refused, from as many addresses, can: memory is bounded */
    for (int i = 0; i < 20000; i++) {
        (void)snprintf(name, sizeof(name), "host-%d", i);
        CHECK_INT(fail_at(t, name, name, 0), 0);
    }
    CHECK_INT(fail_at(t, "victim", "10.0.0.2", 0), 0);
    throttle_free(t);
}
