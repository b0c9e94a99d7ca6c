/* thread.h - the name of a thread, and how it shares the processor with others. */
#pragma once
#include <stdbool.h>

enum thread_kind {
    THREAD_PLAIN,  /* the scheduler's default */
    THREAD_PROMPT, /* does little at a time while others wait for it: runs as soon as it is woken */
    THREAD_STEADY, /* works for long: does not preempt others when it is woken, but runs longer */
};

/* For the thread that calls it, not the main one. The name has 15 characters at most. Where the
 * kernel does not let us, or an administrator has chosen another policy, the kind has no effect. */
void thread_begin(const char *name, enum thread_kind kind);

/* Did this thread begin under this name? For asserts. */
bool thread_is(const char *name);

/* Is this the thread that began under this name, or one that never began (the main thread, a
 * test's)? For asserts: what belongs to one kind of thread is set up and taken down by another. */
bool thread_may_be(const char *name);
