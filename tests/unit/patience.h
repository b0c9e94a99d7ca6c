/* patience.h - waiting for another thread, but not for ever. */
#pragma once
#include <semaphore.h>
#include <stdbool.h>
#include <time.h>

enum { PATIENCE_S = 100 };

/* False when it was not posted within PATIENCE_S. */
static inline bool wait_for(sem_t *sem)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    return sem_timedwait(sem, &until) == 0;
}
