/* clock_preload.c - loaded before the program (LD_PRELOAD): its clocks are moved through the file
 * of two 64-bit numbers, `passed_us` and `stepped_us`, that MUSTER_TEST_CLOCK names. The program is
 * the one that users run: base/clock.c adds what `clock_shifts` points to, which is NULL there.
 * MUSTER_TEST_SKEW_S is how many seconds the clock of its machine is off. MUSTER_TEST_ALARM_TIMES
 * is how many times as long an alarm takes: the program's own ends a stop after nine seconds, which
 * a stop that works may need on a busy machine, and under a sanitizer that end is a report. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

enum { SHIFTS_BYTES = 16 };

static void *map(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *at = MAP_FAILED;

    if (fd >= 0 && lseek(fd, 0, SEEK_END) >= SHIFTS_BYTES)
        at = mmap(NULL, SHIFTS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        (void)close(fd);
    return at == MAP_FAILED ? NULL : at;
}

/* Stands in the place of the system's. */
unsigned alarm(unsigned seconds)
{
    const char *times = getenv("MUSTER_TEST_ALARM_TIMES");
    struct itimerval after = { .it_value.tv_sec = seconds }, before = { 0 };

    if (times != NULL)
        after.it_value.tv_sec *= strtol(times, NULL, 10);
    (void)setitimer(ITIMER_REAL, &after, &before);
    return (unsigned)before.it_value.tv_sec;
}

/* Runs before main(), which knows nothing of it. */
__attribute__((constructor)) static void hook_clock(void)
{
    void **shifts = dlsym(RTLD_DEFAULT, "clock_shifts"); /* NULL: strace, say, which starts ours */
    int64_t *skew_us = dlsym(RTLD_DEFAULT, "clock_skew_us");
    const char *path = getenv("MUSTER_TEST_CLOCK"), *skew_s = getenv("MUSTER_TEST_SKEW_S");

    if (skew_us != NULL && skew_s != NULL)
        *skew_us = strtol(skew_s, NULL, 10) * 1000000;
    if (shifts == NULL || path == NULL)
        return;
    *shifts = map(path);
    if (*shifts == NULL) {
        (void)fprintf(stderr, "muster: '%s' is not a clock: a file of two 64-bit numbers\n", path);
        exit(EXIT_FAILURE);
    }
}
