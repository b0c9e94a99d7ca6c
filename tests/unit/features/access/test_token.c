/* test_token.c - tokens are well-formed when made, and no longer after any change; bad ones are
 * counted by address, in bounded memory. */
#include <stdio.h>

#include "base/digest.h"
#include "features/access/auth.h"
#include "hooks/clock_hook.h"
#include "test.h"

enum { TOKENS = 100000 };

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

static enum token_kind kind_of(int i)
{
    static const enum token_kind kinds[] = { TOKEN_WORKSPACE, TOKEN_AGENT, TOKEN_READ_ONLY };

    return kinds[(size_t)i % COUNT_OF(kinds)];
}

static const char *prefix_of(enum token_kind kind)
{
    if (kind == TOKEN_AGENT)
        return "mst_ag_";
    return kind == TOKEN_READ_ONLY ? "mst_ro_" : "mst_ws_";
}

TEST(every_token_is_well_formed_and_none_after_a_typo)
{
    char token[TOKEN_LEN + 1], last[TOKEN_LEN + 1] = "";

    for (int i = 0; i < TOKENS; i++) {
        uint32_t at = digest_random_below(TOKEN_LEN);
        char was, digit = digits[digest_random_below(sizeof(digits) - 1)];

        token_make(kind_of(i), token);
        CHECK_INT(strlen(token), TOKEN_LEN);
        CHECK(strncmp(token, prefix_of(kind_of(i)), 7) == 0);
        CHECK(token_is_well_formed(str_of(token)));
        CHECK(strcmp(token, last) != 0);
        memcpy(last, token, sizeof(last));
        was = token[at];
        token[at] = digit;
        CHECK(token_is_well_formed(str_of(token)) == (digit == was));
    }
}

TEST(other_lengths_other_kinds_and_swapped_digits_are_not_well_formed)
{
    char token[TOKEN_LEN + 2];

    for (int i = 0; i < 1000; i++) {
        token_make(TOKEN_WORKSPACE, token);
        for (size_t len = 0; len < TOKEN_LEN; len++)
            CHECK(!token_is_well_formed(str_from(token, len)));
        token[TOKEN_LEN] = 'x';
        CHECK(!token_is_well_formed(str_from(token, TOKEN_LEN + 1)));
        memcpy(token, "mst_ag_", 7);
        CHECK(!token_is_well_formed(str_from(token, TOKEN_LEN)));
        memcpy(token, "mst_ws_", 7);
        for (size_t at = 7; at + 1 < TOKEN_LEN; at++) {
            char a = token[at], b = token[at + 1];

            token[at] = b;
            token[at + 1] = a;
            CHECK(token_is_well_formed(str_from(token, TOKEN_LEN)) == (a == b));
            token[at] = a;
            token[at + 1] = b;
        }
    }
    CHECK(!token_is_well_formed(STR_NULL));
    CHECK(!token_is_well_formed(STR_LIT("")));
}

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
