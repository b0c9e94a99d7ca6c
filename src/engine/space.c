/* space.c - measures free space and keeps the reserve. */
#include "engine/space.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

enum {
    FLOOR_SHARE = 20,   /* one part in this many of the file system … */
    FULL_MEMORY_S = 10, /* how long a failed write counts when none follows */
};
#define FLOOR_MAX   ((int64_t)256 << 20) /* … but never more */
#define RESERVE_MAX ((int64_t)4 << 20)   /* hundreds of administrative changes */

void space_init(struct space *s, const char *database, int64_t min_free, bool keeps_reserve)
{
    static const char scheme[] = "sqlite:";
    char path[sizeof(s->folder)];
    int n = -1;

    *s = (struct space){ .min_free = min_free, .keeps_reserve = keeps_reserve };
    lock_init(&s->lock);
    if (strncmp(database, scheme, strlen(scheme)) == 0)
        n = snprintf(path, sizeof(path), "%s", database + strlen(scheme));
    if (n >= 0 && (size_t)n < sizeof(path))
        (void)snprintf(s->folder, sizeof(s->folder), "%s", dirname(path));
    space_measure(s);
}

void space_done(struct space *s)
{
    lock_done(&s->lock);
}

/* The name of the reserve; false when it is too long. */
static bool reserve_name(const struct space *s, char ret[sizeof(s->folder)])
{
    int n = snprintf(ret, sizeof(s->folder), "%s/reserve", s->folder);

    return n > 0 && (size_t)n < sizeof(s->folder);
}

static int64_t reserve_bytes(int64_t floor)
{
    return floor / 2 < RESERVE_MAX ? floor / 2 : RESERVE_MAX;
}

static void make_reserve(struct space *s, int64_t bytes) REQUIRES(s->lock)
{
    char name[sizeof(s->folder)];
    int fd = reserve_name(s, name) ? open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;

    if (fd < 0)
        return;
    s->has_reserve = posix_fallocate(fd, 0, bytes) == 0;
    if (!s->has_reserve)
        (void)unlink(name);
    (void)close(fd);
}

/* Also a reserve that another process has made: a command may need it. */
static void release_reserve(struct space *s) REQUIRES(s->lock)
{
    char name[sizeof(s->folder)];

    if (reserve_name(s, name) && unlink(name) == 0)
        log_write(LOG_WARNING, "storage",
                  "the disk is full: the reserve was released for administration");
    s->has_reserve = false;
}

static void set_low(struct space *s, bool low, int64_t free_bytes, int64_t floor)
{
    if (atomic_exchange(&s->low, low) == low)
        return;
    if (low)
        log_write(LOG_ERROR, "storage",
                  "reports are refused: %lld bytes are free, less than the floor of %lld",
                  (long long)free_bytes, (long long)floor);
    else
        log_write(LOG_INFO, "storage", "reports are accepted again: %lld bytes are free",
                  (long long)free_bytes);
}

static void measure(struct space *s, bool is_full) REQUIRES(s->lock)
{
    struct statvfs disk;
    int64_t free_bytes, floor, reserve;

    if (s->folder[0] == '\0' || statvfs(s->folder, &disk) != 0)
        return;
    free_bytes = (int64_t)disk.f_bavail * (int64_t)disk.f_frsize;
    floor = (int64_t)disk.f_blocks * (int64_t)disk.f_frsize / FLOOR_SHARE;
    floor = s->min_free > 0 ? s->min_free : floor < FLOOR_MAX ? floor : FLOOR_MAX;
    reserve = reserve_bytes(floor);
    if (is_full) /* not before: what fills the disk would take it */
        release_reserve(s);
    else if (s->keeps_reserve && !s->has_reserve && reserve > 0 &&
             free_bytes >= floor + 2 * reserve)
        make_reserve(s, reserve);
    atomic_store(&s->free_bytes, free_bytes);
    atomic_store(&s->floor_bytes, floor);
    /* hysteresis: needs 1/8 more to leave the low state, so that it does not flap */
    set_low(s, free_bytes < (atomic_load(&s->low) ? floor + floor / 8 : floor), free_bytes, floor);
}

void space_measure(struct space *s)
{
    lock_acquire(&s->lock);
    measure(s, false);
    lock_release(&s->lock);
}

void space_note_full(struct space *s)
{
    atomic_store(&s->full_us, clock_mono_us());
    lock_acquire(&s->lock);
    measure(s, true);
    lock_release(&s->lock);
}

void space_note_stored(struct space *s)
{
    atomic_store(&s->full_us, 0);
    space_measure(s);
}

bool space_is_low(const struct space *s)
{
    return atomic_load_explicit(&s->low, memory_order_relaxed);
}

bool space_is_full(const struct space *s)
{
    int64_t full_us = atomic_load(&s->full_us);

    return full_us != 0 && clock_mono_us() - full_us < (int64_t)FULL_MEMORY_S * USEC_PER_SEC;
}
