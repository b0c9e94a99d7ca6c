/* id_filter_fault.c - a handler of SIGBUS, and the maps that it knows. */
#include "features/events/ids/id_filter_fault.h"

#include <assert.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

enum { SLOTS = 1024, PAGE = 4096 };

/* Free while `size` is 0. A handler may look at any moment, so `from` is set before. */
static struct {
    _Atomic uintptr_t from;
    _Atomic size_t size;
    atomic_bool taken;
} slots[SLOTS];

static struct sigaction before;

static bool is_watched(uintptr_t at)
{
    for (int i = 0; i < SLOTS; i++) {
        const size_t size = atomic_load(&slots[i].size);

        if (size > 0 && at - atomic_load(&slots[i].from) < size)
            return true;
    }
    return false;
}

/* Only system calls in here. */
static void on_fault(int signal_no, siginfo_t *info, void *context)
{
    char *at = info->si_addr;
    char *page = at - (uintptr_t)at % PAGE;

    (void)signal_no;
    (void)context;
    if (is_watched((uintptr_t)at) &&
        mmap(page, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
        return;
    (void)sigaction(SIGBUS, &before, NULL); /* it comes again at once */
}

/* Again when another handler took its place. */
static void install(void)
{
    struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    struct sigaction now;

    if (sigaction(SIGBUS, NULL, &now) == 0 && now.sa_sigaction == on_fault)
        return;
    before = now;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGBUS, &action, NULL);
}

int id_filter_fault_watch(const void *map, size_t size)
{
    assert(size > 0);
    install();
    for (int i = 0; i < SLOTS; i++) {
        if (atomic_exchange(&slots[i].taken, true))
            continue;
        atomic_store(&slots[i].from, (uintptr_t)map);
        atomic_store(&slots[i].size, size);
        return i;
    }
    return -1;
}

void id_filter_fault_forget(int slot)
{
    assert(slot >= 0 && slot < SLOTS);
    atomic_store(&slots[slot].size, 0);
    atomic_store(&slots[slot].taken, false);
}
