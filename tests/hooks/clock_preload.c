/* clock_preload.c - loaded before the program (LD_PRELOAD): its clocks are moved through the file
 * of two 64-bit numbers, `passed_us` and `stepped_us`, that MUSTER_TEST_CLOCK names. The program is
 * the one that users run: base/clock.c adds what `clock_shifts` points to, which is NULL there.
 * MUSTER_TEST_SKEW_S is how many seconds the clock of its machine is off. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
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
