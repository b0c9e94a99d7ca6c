/* test_thread.c - names and scheduling of threads. */
#include "base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include "test.h"

struct look {
    enum thread_kind outer, inner; /* of a thread, and of one that it makes */
    int chosen;                    /* a policy that an administrator chose before; -1: none */
    int policy;
    int nice;
    char name[16];
};

static void *begin_inner(void *arg)
{
    struct look *look = arg;

    thread_begin("inner", look->inner);
    look->policy = sched_getscheduler(0);
    look->nice = getpriority(PRIO_PROCESS, 0);
    (void)pthread_getname_np(pthread_self(), look->name, sizeof(look->name));
    return NULL;
}

static void *begin_outer(void *arg)
{
    struct look *look = arg;
    const struct sched_param none = { 0 };
    pthread_t thread;

    (void)setpriority(PRIO_PROCESS, 0, 3);
    if (look->chosen >= 0)
        (void)sched_setscheduler(0, look->chosen, &none);
    thread_begin("outer", look->outer);
    if (pthread_create(&thread, NULL, begin_inner, look) == 0)
        pthread_join(thread, NULL);
    return NULL;
}

TEST(a_thread_has_its_name_and_kind_whoever_made_it)
{
    static const struct {
        enum thread_kind outer, inner;
        int chosen, policy;
    } rows[] = {
        { THREAD_PROMPT, THREAD_PLAIN, -1, SCHED_OTHER },
        { THREAD_PROMPT, THREAD_STEADY, -1, SCHED_BATCH },
        { THREAD_PLAIN, THREAD_PROMPT, -1, SCHED_OTHER },
        { THREAD_PLAIN, THREAD_STEADY, SCHED_IDLE, SCHED_IDLE },
        { THREAD_PLAIN, THREAD_PROMPT, SCHED_BATCH, SCHED_BATCH },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct look look = { .outer = rows[i].outer,
                             .inner = rows[i].inner,
                             .chosen = rows[i].chosen };
        pthread_t thread;

        CHECK_INT(pthread_create(&thread, NULL, begin_outer, &look), 0);
        pthread_join(thread, NULL);
        CHECK_STR(str_of(look.name), "inner");
        CHECK_INT(look.policy, rows[i].policy);
        CHECK_INT(look.nice, 3);
    }
}
