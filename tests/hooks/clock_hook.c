/* clock_hook.c - shifts of this process, or of the file that MUSTER_TEST_CLOCK names. */
#include "hooks/clock_hook.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct clock_shifts own_shifts;

void clock_advance_us(int64_t us)
{
    atomic_fetch_add(&clock_shifts->passed_us, us);
}

void clock_step_wall_us(int64_t us)
{
    atomic_fetch_add(&clock_shifts->stepped_us, us);
}

int clock_follow(const char *path, struct error *err)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *at = MAP_FAILED;

    if (fd >= 0 && lseek(fd, 0, SEEK_END) >= (off_t)sizeof(struct clock_shifts))
        at = mmap(NULL, sizeof(struct clock_shifts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        (void)close(fd);
    if (at == MAP_FAILED)
        return err_set(err, ERR_INVALID, "'%s' is not a clock: a file of two 64-bit numbers", path);
    clock_shifts = at;
    return 0;
}

/* Runs before main(), which knows nothing of it. */
__attribute__((constructor)) static void hook_clock(void)
{
    const char *path = getenv("MUSTER_TEST_CLOCK");
    struct error err = { 0 };

    clock_shifts = &own_shifts;
    if (getenv("MUSTER_TEST_SKEW_S") != NULL)
        clock_skew_us = strtol(getenv("MUSTER_TEST_SKEW_S"), NULL, 10) * USEC_PER_SEC;
    if (path != NULL && clock_follow(path, &err) != 0) {
        (void)fprintf(stderr, "muster: %s\n", err.text);
        exit(EXIT_FAILURE);
    }
}
