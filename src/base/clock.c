/* clock.c - the two clocks, with the shift that tests give them. */
#include "base/clock.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Two numbers, that another process may write: see clock_follow(). */
struct shifts {
    _Atomic int64_t wall_us, mono_us;
};

static struct shifts own_shifts;
static struct shifts *shifts = &own_shifts;

static int64_t read_us(clockid_t id)
{
    struct timespec now;

    (void)clock_gettime(id, &now);
    return (int64_t)now.tv_sec * USEC_PER_SEC + now.tv_nsec / 1000;
}

int64_t clock_wall_us(void)
{
    return read_us(CLOCK_REALTIME) + atomic_load_explicit(&shifts->wall_us, memory_order_relaxed);
}

int64_t clock_mono_us(void)
{
    return read_us(CLOCK_BOOTTIME) + atomic_load_explicit(&shifts->mono_us, memory_order_relaxed);
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
    atomic_fetch_add(&shifts->wall_us, us);
    atomic_fetch_add(&shifts->mono_us, us);
}

void clock_step_wall_us(int64_t us)
{
    atomic_fetch_add(&shifts->wall_us, us);
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
        return err_set(err, ERR_INVALID, "'%s' is no clock: a file of two 64-bit numbers", path);
    shifts = at;
    return 0;
}
