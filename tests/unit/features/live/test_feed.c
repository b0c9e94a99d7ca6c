/* test_feed.c - live updates: what is kept, what is told, and to whom. */
#include "features/live/feed.h"

#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/digest.h"
#include "features/events/shapes.h"
#include "features/live/topic.h"
#include "test.h"

static bool has(const struct buf *out, const char *text)
{
    return out->len > 0 && memmem(out->data, out->len, text, strlen(text)) != NULL;
}

static void note_run(struct topic *t, const char *run, int status)
{
    char key[64];

    (void)snprintf(key, sizeof(key), "r%s", run);
    topic_note(t, CHANGE_RUN, str_of(key), STR_LIT("worker"), run_status_names[status]);
}

static void tell(struct topic *t, struct buf *out)
{
    struct topic_changes changes = topic_take(t);

    topic_publish(t, &changes, out);
    topic_drop(&changes);
}

TEST(changes_of_one_thing_are_one_message_with_the_last_word)
{
    struct topic *t;
    struct buf out;

    digest_init();
    buf_init(&out, MIB(1));
    t = topic_new(7, 0xab);
    note_run(t, "one", RUN_IN_PROGRESS);
    note_run(t, "two", RUN_FAILED);
    note_run(t, "one", RUN_COMPLETED);
    topic_note(t, CHANGE_ALERT, STR_LIT("l"), STR_LIT("{\"n\":1}"), NULL);
    topic_note(t, CHANGE_ALERT, STR_LIT("l"), STR_LIT("{\"n\":2}"), NULL);
    tell(t, &out);
    CHECK_STR(buf_str(&out),
              "id: ab-1\nevent: run\n"
              "data: {\"run_id\":\"one\",\"agent_name\":\"worker\",\"status\":\"completed\"}\n\n"
              "id: ab-2\nevent: run\n"
              "data: {\"run_id\":\"two\",\"agent_name\":\"worker\",\"status\":\"failed\"}\n\n"
              "id: ab-3\nevent: alert\ndata: {\"n\":1}\n\n"
              "id: ab-4\nevent: alert\ndata: {\"n\":2}\n\n");
    tell(t, &out);
    CHECK_INT(out.len, 0); /* once */
    topic_free(t);
    buf_done(&out);
}

TEST(what_is_kept_is_bounded_and_who_missed_more_is_told_so)
{
    struct topic *t;
    struct buf out;
    char run[16], id[32];
    unsigned oldest = 0;

    digest_init();
    buf_init(&out, MIB(1));
    t = topic_new(7, 0xab);
    for (unsigned i = 1; i <= 5000; i++) {
        (void)snprintf(run, sizeof(run), "run-%u", i);
        note_run(t, run, RUN_IN_PROGRESS);
        tell(t, &out);
    }
    CHECK(t->bytes <= KIB(256));
    for (unsigned i = 0; i <= 5000 && oldest == 0; i++) {
        (void)snprintf(id, sizeof(id), "ab-%u", i);
        topic_greet(t, str_of(id), &out);
        if (!has(&out, "event: reset"))
            oldest = i;
    }
    CHECK(oldest > 1000 && oldest < 5000);
    (void)snprintf(id, sizeof(id), "id: ab-%u\n", oldest + 1);
    CHECK(has(&out, id) && has(&out, "run-5000"));
    topic_greet(t, STR_LIT("ab-5000"), &out);
    CHECK_STR(buf_str(&out), ":\n\n");
    topic_greet(t, STR_LIT("ab-5001"), &out); /* not yet given out */
    CHECK(has(&out, "event: reset"));
    topic_free(t);
    buf_done(&out);
}

/* A listener that remembers how often it was called. */
struct ear {
    struct feed_listener listener;
    unsigned pushed, most; /* how many it accepts */
    bool gone, foreign;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static bool push(struct feed_listener *listener, struct str text)
{
    struct ear *ear = CONTAINER_OF(listener, struct ear, listener);
    char own[32];
    bool more;

    (void)snprintf(own, sizeof(own), "agent-%d\"", (int)listener->tenant_id);
    pthread_mutex_lock(&lock);
    ear->foreign |= memmem(text.data, text.len, "agent-", 6) != NULL &&
                    memmem(text.data, text.len, own, strlen(own)) == NULL;
    more = ear->pushed < ear->most;
    ear->pushed++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return more;
}

static void gone(struct feed_listener *listener)
{
    struct ear *ear = CONTAINER_OF(listener, struct ear, listener);

    pthread_mutex_lock(&lock);
    CHECK(!ear->gone);
    ear->gone = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void *note_on(void *arg)
{
    struct feed *f = arg;
    struct feed_run runs[4];
    char names[4][16];

    for (unsigned i = 0; i < 4; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "agent-%u", i);
        runs[i] = (struct feed_run){ .tenant_id = i,
                                     .run_id = STR_LIT("run"),
                                     .agent_name = str_of(names[i]),
                                     .status = "running" };
    }
    for (unsigned n = 0; n < 2000; n++) {
        feed_note_runs(f, runs, 4);
        feed_note_agent(f, n % 4, str_of(names[n % 4]));
    }
    return NULL;
}

/* Listeners of four tenants come and go while two threads note changes. */
TEST(every_listener_hears_of_its_tenant_alone_and_is_let_go_once)
{
    enum { EARS = 40 };
    struct ear ears[EARS] = { 0 };
    pthread_t threads[2];
    struct feed *f;

    digest_init();
    f = feed_new(false, NULL, NULL);
    for (unsigned i = 0; i < 2; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, note_on, f), 0);
    for (unsigned i = 0; i < EARS; i++) {
        ears[i] = (struct ear){ .listener = { .tenant_id = i % 4, .push = push, .gone = gone },
                                .most = i % 5 == 0 ? 100 : 1 };
        CHECK_INT(feed_listen(f, &ears[i].listener, STR_NULL, NULL), 0);
    }
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_lock(&lock);
    while (ears[0].pushed == 0)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    feed_free(f);
    for (unsigned i = 0; i < EARS; i++)
        CHECK(ears[i].gone && !ears[i].foreign);
}

/* A listener that causes a change whenever it notified of one, and is asked now and then. */
struct busy_ear {
    struct feed_listener listener;
    struct feed *feed;
    int64_t asked_us, least_us; /* when last, and between two times */
    unsigned asked, most;       /* how often it answers that it may listen */
    bool gone;
};

static bool push_busy(struct feed_listener *listener, struct str text)
{
    struct busy_ear *ear = CONTAINER_OF(listener, struct busy_ear, listener);
    const int64_t now_us = clock_raw_us();

    if (text.len > 0) {
        feed_note_agent(ear->feed, listener->tenant_id, STR_LIT("worker"));
        return true;
    }
    if (ear->asked > 0 && now_us - ear->asked_us < ear->least_us)
        ear->least_us = now_us - ear->asked_us;
    ear->asked_us = now_us;
    return ++ear->asked < ear->most;
}

static void busy_gone(struct feed_listener *listener)
{
    pthread_mutex_lock(&lock);
    CONTAINER_OF(listener, struct busy_ear, listener)->gone = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* Changes are sent each 0.8 s: the question must not wait for the second time. */
TEST(a_listener_is_asked_each_second_while_much_changes)
{
    struct busy_ear ear = { .listener = { .tenant_id = 1, .push = push_busy, .gone = busy_gone },
                            .least_us = INT64_MAX,
                            .most = 5 };

    digest_init();
    ear.feed = feed_new(false, NULL, NULL);
    CHECK_INT(feed_listen(ear.feed, &ear.listener, STR_NULL, NULL), 0);
    pthread_mutex_lock(&lock);
    while (!ear.gone)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    feed_free(ear.feed);
    CHECK(ear.least_us < USEC_PER_SEC * 3 / 2); /* the best: a busy machine is late now and then */
}
