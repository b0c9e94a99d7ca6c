/* thread.h - what a thread is called, and how it shares the processor with the others. */
#pragma once

enum thread_kind {
    THREAD_PLAIN,  /* like any other */
    THREAD_PROMPT, /* does little at a time and is waited for: runs as soon as it is woken */
    THREAD_STEADY, /* works on and on: does not push others aside as it is woken, runs longer */
};

/* For the thread that calls it, not the main one. The name has 15 characters at most. Where the
 * kernel does not let us, or an administrator has chosen another policy, the kind has no effect. */
void thread_begin(const char *name, enum thread_kind kind);

/* Another kind from now on. A few system calls. */
void thread_become(enum thread_kind kind);
