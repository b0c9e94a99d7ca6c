/* clock.c - the two clocks, with the shift that tests give them. */
#include "base/clock.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Two numbers that another process may write: see clock_follow(). Each is atomic on its own. */
struct shifts {
    _Atomic int64_t passed_us;  /* of both clocks */
    _Atomic int64_t stepped_us; /* of the wall clock alone */
};

static struct shifts own_shifts;
static struct shifts *shifts = &own_shifts;

static int64_t read_us(clockid_t id)
{
    struct timespec now;

    (void)clock_gettime(id, &now);
    return (int64_t)now.tv_sec * USEC_PER_SEC + now.tv_nsec / 1000;
}

static int64_t passed_us(void)
{
    return atomic_load_explicit(&shifts->passed_us, memory_order_relaxed);
}

static int64_t stepped_us(void)
{
    return atomic_load_explicit(&shifts->stepped_us, memory_order_relaxed);
}

int64_t clock_wall_us(void)
{
    return read_us(CLOCK_REALTIME) + passed_us() + stepped_us();
}

int64_t clock_mono_us(void)
{
    return read_us(CLOCK_BOOTTIME) + passed_us();
}

struct clock_times clock_times(void)
{
    int64_t passed = passed_us();

    return (struct clock_times){ .wall_us = read_us(CLOCK_REALTIME) + passed + stepped_us(),
                                 .mono_us = read_us(CLOCK_BOOTTIME) + passed };
}

int64_t clock_raw_us(void)
{
    return read_us(CLOCK_BOOTTIME);
}

bool clock_is_followed(void)
{
    return shifts != &own_shifts;
}

void clock_advance_us(int64_t us)
{
    atomic_fetch_add(&shifts->passed_us, us);
}

void clock_step_wall_us(int64_t us)
{
    atomic_fetch_add(&shifts->stepped_us, us);
}

int clock_follow(const char *path, struct error *err)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *at = MAP_FAILED;

    if (fd >= 0 && lseek(fd, 0, SEEK_END) >= (off_t)sizeof(struct shifts))
        at = mmap(NULL, sizeof(struct shifts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        (void)close(fd);
    if (at == MAP_FAILED)
        return err_set(err, ERR_INVALID, "'%s' is not a clock file (two 64-bit numbers)", path);
    shifts = at;
    return 0;
}
