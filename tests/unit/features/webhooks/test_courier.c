/* test_courier.c - the schedule of attempts. */
#include "features/webhooks/courier.h"

#include "base/clock.h"
#include "base/digest.h"
#include "test.h"

TEST(ten_attempts_are_spread_over_three_days)
{
    int64_t total = 0;

    digest_init();
    CHECK_INT(courier_delay_us(0), 0);
    for (int64_t attempt = 1; attempt <= 9; attempt++) {
        CHECK(courier_delay_us(attempt) > 0);
        total += courier_delay_us(attempt);
    }
    CHECK_INT(courier_delay_us(10), 0);
    CHECK(total > 2 * 86400LL * USEC_PER_SEC);
    CHECK(total < 4 * 86400LL * USEC_PER_SEC);
}

TEST(delays_grow_and_are_spread)
{
    bool differ = false;

    digest_init();
    for (int64_t attempt = 1; attempt < 9; attempt++)
        for (int i = 0; i < 100; i++) {
            int64_t one = courier_delay_us(attempt), other = courier_delay_us(attempt);

            differ |= one != other;
            CHECK(one <= courier_delay_us(attempt + 1) * 11 / 10);
        }
    CHECK(differ);
}
