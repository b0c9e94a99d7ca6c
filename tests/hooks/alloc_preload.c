/* alloc_preload.c - loaded before the program (LD_PRELOAD): one of its allocations fails.
 *
 * The file that MUSTER_TEST_ALLOC names is mapped as `struct control`: a test sets `countdown`, and
 * the allocation that brings it to zero fails once, whoever asked for it: the program, or a library
 * that it uses. The program is the one that users run.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* As tests/crash/allocations.py has it. */
struct control {
    _Atomic int64_t countdown; /* 1: the next one fails; 0: none does */
    _Atomic int64_t failed;    /* how many did */
    _Atomic int64_t live;      /* allocations that were not freed */
};

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

static struct control before_main;
static struct control *_Atomic control = &before_main;

__attribute__((constructor)) static void hook_allocations(void)
{
    const char *path = getenv("MUSTER_TEST_ALLOC");
    int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    void *at = MAP_FAILED;

    if (fd >= 0)
        at = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        (void)close(fd);
    if (at == MAP_FAILED)
        return;
    atomic_store(&((struct control *)at)->live, atomic_load(&before_main.live));
    atomic_store(&control, at);
}

static int is_to_fail(void)
{
    struct control *c = atomic_load_explicit(&control, memory_order_relaxed);

    if (atomic_load_explicit(&c->countdown, memory_order_relaxed) <= 0 ||
        atomic_fetch_sub(&c->countdown, 1) != 1)
        return 0;
    atomic_fetch_add(&c->failed, 1);
    errno = ENOMEM;
    return 1;
}

static void *count(void *memory, int64_t n)
{
    if (memory != NULL)
        atomic_fetch_add_explicit(&control->live, n, memory_order_relaxed);
    return memory;
}

void *malloc(size_t size)
{
    return is_to_fail() ? NULL : count(__libc_malloc(size), 1);
}

void *calloc(size_t n, size_t size)
{
    return is_to_fail() ? NULL : count(__libc_calloc(n, size), 1);
}

void *realloc(void *memory, size_t size)
{
    return is_to_fail() ? NULL : count(__libc_realloc(memory, size), memory == NULL);
}

void free(void *memory)
{
    (void)count(memory, -1);
    __libc_free(memory);
}
