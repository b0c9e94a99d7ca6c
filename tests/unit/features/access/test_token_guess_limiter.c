/* test_token_guess_limiter.c - bad tokens are counted by address, in bounded memory. */
#include "features/access/auth.h"

#include <stdio.h>

#include "hooks/clock_hook.h"
#include "test.h"

static struct address parsed(const char *text)
{
    struct address a;

    CHECK(address_parse(str_of(text), &a));
    return a;
}

static int64_t count(struct token_guess_limiter *m, const char *text)
{
    const struct address from = parsed(text);

    return token_guess_count(m, &from);
}

static bool exceeded(struct token_guess_limiter *m, const char *text)
{
    const struct address from = parsed(text);

    return token_guesses_exceeded(m, &from);
}

TEST(an_address_may_miss_a_thousand_times_a_minute)
{
    struct token_guess_limiter *m = token_guess_limiter_new();

    for (int i = 0; i < TOKEN_GUESSES_MAX; i++) {
        CHECK(!exceeded(m, "10.0.0.1"));
        CHECK_INT(count(m, "10.0.0.1"), 0);
    }
    CHECK(exceeded(m, "10.0.0.1"));
    CHECK(count(m, "10.0.0.1") > 0);
    CHECK(count(m, "10.0.0.1") <= TOKEN_GUESSES_WINDOW_S);
    CHECK_INT(count(m, "10.0.0.2"), 0); /* others are as they were */
    CHECK_INT(count(m, "::1"), 0);
    clock_advance_us((int64_t)TOKEN_GUESSES_WINDOW_S * USEC_PER_SEC);
    CHECK(!exceeded(m, "10.0.0.1"));
    CHECK_INT(count(m, "10.0.0.1"), 0);
    token_guess_limiter_free(m);
}

/* A hundred thousand addresses find room by pushing out the oldest; the newest are still counted.
 */
TEST(more_addresses_than_there_is_room_for_push_out_the_oldest)
{
    struct token_guess_limiter *m = token_guess_limiter_new();
    char host[32];

    for (int i = 0; i < 100000; i++) {
        (void)snprintf(host, sizeof(host), "10.%d.%d.%d", i >> 16, (i >> 8) & 255, i & 255);
        CHECK_INT(count(m, host), 0);
        clock_advance_us(1);
    }
    for (int i = 1; i < TOKEN_GUESSES_MAX; i++)
        CHECK_INT(count(m, host), 0);
    CHECK(count(m, host) > 0);
    token_guess_limiter_free(m);
}

TEST(addresses_of_one_ipv6_network_are_one_and_ipv4_stays_itself)
{
    struct token_guess_limiter *m = token_guess_limiter_new();
    char host[32];

    for (int i = 0; i < TOKEN_GUESSES_MAX; i++) {
        (void)snprintf(host, sizeof(host), "2001:db8::%x", i + 1);
        CHECK_INT(count(m, host), 0);
        CHECK_INT(count(m, i % 2 == 0 ? "::ffff:10.0.0.1" : "10.0.0.1"), 0);
    }
    CHECK(count(m, "2001:db8::ffff:1") > 0);
    CHECK_INT(count(m, "2001:db8:0:1::1"), 0);
    CHECK(count(m, "10.0.0.1") > 0);
    CHECK_INT(count(m, "::ffff:10.0.0.2"), 0);
    token_guess_limiter_free(m);
}

TEST(the_database_is_asked_a_bounded_number_of_times_a_second)
{
    struct token_guess_limiter *m = token_guess_limiter_new();

    for (int second = 0; second < 3; second++) {
        for (int i = 0; i < TOKEN_LOOKUPS_MAX; i++)
            CHECK(token_guess_may_look_up(m));
        CHECK(!token_guess_may_look_up(m));
        clock_advance_us(USEC_PER_SEC);
    }
    token_guess_limiter_free(m);
}

TEST(no_misses_are_freed_well)
{
    token_guess_limiter_free(NULL);
}

TEST(misses_are_counted_by_the_second_and_not_what_was_found)
{
    struct token_guess_limiter *m = token_guess_limiter_new();
    int n = 0;

    for (int i = 0; i < 1000; i++)
        CHECK(token_guess_may_miss(m)); /* each was found */
    while (token_guess_may_miss(m)) {
        token_guess_missed(m);
        CHECK(++n <= 1000);
    }
    CHECK(n > 0);
    CHECK(token_guess_may_look_up(m)); /* counted apart */
    clock_advance_us(USEC_PER_SEC);
    CHECK(token_guess_may_miss(m));
    token_guess_limiter_free(m);
}
