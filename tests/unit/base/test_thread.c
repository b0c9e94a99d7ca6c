/* test_thread.c - names and scheduling of threads. */
#include "base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

struct look {
    enum thread_kind outer, inner; /* of a thread, and of one that it makes */
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
    pthread_t thread;

    (void)setpriority(PRIO_PROCESS, 0, 3);
    thread_begin("outer", look->outer);
    if (pthread_create(&thread, NULL, begin_inner, look) == 0)
        pthread_join(thread, NULL);
    return NULL;
}

/* A process of its own, in which the administrator may have chosen a policy; -1: none. */
static int look_there(struct look *look, int chosen)
{
    const struct sched_param none = { 0 };
    pid_t child = fork();
    pthread_t thread;
    int status = -1;

    if (child != 0) {
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        return status;
    }
    if (sched_setscheduler(0, chosen < 0 ? SCHED_OTHER : chosen, &none) != 0 ||
        pthread_create(&thread, NULL, begin_outer, look) != 0)
        _exit(100);
    pthread_join(thread, NULL);
    _exit(strcmp(look->name, "inner") != 0 || look->nice != 3 ? 101 : look->policy);
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
        { THREAD_STEADY, THREAD_PLAIN, -1, SCHED_OTHER },
        { THREAD_STEADY, THREAD_PROMPT, -1, SCHED_OTHER },
        { THREAD_PLAIN, THREAD_STEADY, SCHED_IDLE, SCHED_IDLE },
        { THREAD_PLAIN, THREAD_PROMPT, SCHED_BATCH, SCHED_BATCH },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct look look = { .outer = rows[i].outer, .inner = rows[i].inner };
        int status = look_there(&look, rows[i].chosen);

        CHECK(WIFEXITED(status));
        CHECK_INT(WEXITSTATUS(status), rows[i].policy);
    }
}
