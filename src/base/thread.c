/* thread.c - names and scheduling of threads.
 *
 * Linux lets a woken thread run at once only when its slice is shorter than
 * that of the thread which has the core; all have the same by default, and wait
 * for the next tick, which may be 4 ms away. Slices do not change shares of the
 * processor. (Since Linux 6.12; before, they are ignored.)
 */
#include "base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PROMPT_SLICE_US = 100,
    STEADY_SLICE_US = 4000,
};

/* As the kernel has it; libraries before 2024 do not. */
struct attributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

/* The main thread has no kind: it shows what the process was started with. */
static bool is_left_to_us(void)
{
    struct attributes a = { 0 };

    return syscall(SYS_sched_getattr, getpid(), &a, sizeof(a), 0) == 0 && a.policy == SCHED_OTHER;
}

static void set_slice(uint32_t policy, uint64_t slice_us)
{
    struct attributes a = { 0 };

    if (!is_left_to_us() || syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) != 0)
        return;
    a.size = sizeof(a);
    a.policy = policy;
    a.runtime_ns = slice_us * 1000;
    (void)syscall(SYS_sched_setattr, 0, &a, 0);
}

static _Thread_local const char *own_name; /* NULL: thread_begin() was not called */

bool thread_is(const char *name)
{
    return own_name != NULL && strcmp(own_name, name) == 0;
}

bool thread_may_be(const char *name)
{
    return own_name == NULL || thread_is(name);
}

void thread_begin(const char *name, enum thread_kind kind)
{
    own_name = name;
    (void)pthread_setname_np(pthread_self(), name);
    switch (kind) {
    case THREAD_PLAIN: /* set too, since a thread begins with what the one that made it has */
        set_slice(SCHED_OTHER, 0);
        break;
    case THREAD_PROMPT:
        set_slice(SCHED_OTHER, PROMPT_SLICE_US);
        break;
    case THREAD_STEADY:
        set_slice(SCHED_BATCH, STEADY_SLICE_US);
        break;
    }
}
