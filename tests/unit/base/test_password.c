/* test_password.c - what hashing takes is counted, however many hash at a time. */
#include "base/password.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/digest.h"
#include "test.h"

enum { THREADS = 4, EACH = 2 };

static void *hash_some(void *arg)
{
    char hash[PASSWORD_HASH_MAX];

    (void)arg;
    for (int i = 0; i < EACH; i++)
        CHECK(password_hash(STR_LIT("open sesame"), hash, NULL) == 0);
    return NULL;
}

TEST(what_several_hash_at_a_time_takes_no_longer_than_the_clock_says)
{
    const int64_t began_us = clock_raw_us(), before_us = password_spent_us();
    pthread_t threads[THREADS];
    int64_t spent_us;

    digest_init();
    for (size_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, hash_some, NULL) == 0);
    for (size_t i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    spent_us = password_spent_us() - before_us;
    CHECK(spent_us > 0 && spent_us <= clock_raw_us() - began_us);
}

TEST(what_one_hash_takes_is_counted)
{
    const int64_t before_us = password_spent_us();
    char hash[PASSWORD_HASH_MAX];
    int64_t spent_us;
    bool good;

    digest_init();
    CHECK(password_hash(STR_LIT("open sesame"), hash, NULL) == 0);
    spent_us = password_spent_us();
    CHECK(spent_us > before_us);
    CHECK(password_verify(str_of(hash), STR_LIT("open sesame"), &good, NULL) == 0);
    CHECK(good && password_spent_us() > spent_us);
}
