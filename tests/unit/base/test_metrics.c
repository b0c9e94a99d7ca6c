/* test_metrics.c - counters of many threads add up, and print as one number. */
#include "base/metrics.h"

#include <pthread.h>
#include <stdio.h>

#include "test.h"

enum { THREADS = 8, TIMES = 20000 };

static void *count(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < TIMES; i++) {
        metric_add(METRIC_COMMITS, 1);
        metric_extra_add(METRIC_EXTRA_MAX - 1, 2);
        metric_move(GAUGE_STREAMS, i % 2 == 0 ? 1 : -1);
        metric_observe(HISTOGRAM_GROUP, i % 3);
    }
    return NULL;
}

static bool prints(const char *line)
{
    struct buf out;
    bool found;

    buf_init(&out, MIB(1));
    metric_print(&out);
    found = memmem(out.data, out.len, line, strlen(line)) != NULL;
    buf_done(&out);
    return found;
}

/* Also over threads that came and went, whose cells the next ones take over. */
TEST(what_many_threads_count_adds_up)
{
    pthread_t threads[THREADS];
    char line[128];

    for (unsigned round = 1; round <= 3; round++) {
        for (unsigned i = 0; i < THREADS; i++)
            CHECK_INT(pthread_create(&threads[i], NULL, count, NULL), 0);
        for (unsigned i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        CHECK_INT(metric_sum(METRIC_COMMITS), round * THREADS * TIMES);
        CHECK_INT(metric_extra_sum(METRIC_EXTRA_MAX - 1), 2 * round * THREADS * TIMES);
    }
    CHECK(prints("\nmuster_streams 0\n"));
    (void)snprintf(line, sizeof(line), "muster_commit_events_count %d\n", 3 * THREADS * TIMES);
    CHECK(prints(line));
    metric_extra_add(METRIC_EXTRA_MAX, 1); /* beyond the last: nothing */
    CHECK_INT(metric_extra_sum(METRIC_EXTRA_MAX), 0);
}

TEST(a_value_at_a_bound_is_in_its_bucket_and_one_beyond_all_in_the_last)
{
    metric_observe(HISTOGRAM_COMMIT, 100);
    metric_observe(HISTOGRAM_COMMIT, 101);
    metric_observe(HISTOGRAM_COMMIT, 10000001);
    CHECK(prints("muster_commit_seconds_bucket{le=\"0.0001\"} 1\n"));
    CHECK(prints("muster_commit_seconds_bucket{le=\"0.00025\"} 2\n"));
    CHECK(prints("muster_commit_seconds_bucket{le=\"10.0\"} 2\n"));
    CHECK(prints("muster_commit_seconds_bucket{le=\"+Inf\"} 3\n"));
    CHECK(prints("muster_commit_seconds_sum 10.000202\n"));
}

TEST(a_gauge_goes_up_and_down)
{
    metric_move(GAUGE_CONNECTIONS, 5);
    metric_move(GAUGE_CONNECTIONS, -7);
    CHECK(prints("\nmuster_connections -2\n"));
    metric_move(GAUGE_CONNECTIONS, 2);
}
