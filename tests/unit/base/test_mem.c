/* test_mem.c - the reserve, in a process that may not grow. */
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "test.h"

/* They reserve terabytes of address space. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifndef SANITIZED

static rlim_t address_space(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    long pages = 0;

    CHECK(file != NULL && fscanf(file, "%ld", &pages) == 1);
    (void)fclose(file);
    return (rlim_t)(pages * sysconf(_SC_PAGESIZE));
}

TEST(a_failed_allocation_takes_from_the_reserve_and_memory_is_short_until_it_is_back)
{
    struct rlimit before, tight;
    void *large;

    mem_keep_reserve(MIB(64));
    CHECK(!mem_is_short());
    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    tight = before;
    tight.rlim_cur = address_space() + MIB(1);
    CHECK(setrlimit(RLIMIT_AS, &tight) == 0);
    large = mem_alloc(MIB(60)); /* would end the process without the reserve */
    CHECK(mem_is_short());
    free(large);
    CHECK(!mem_is_short());
    large = mem_resize(NULL, MIB(40)); /* the reserve is back */
    CHECK(!mem_is_short());            /* a smaller one fits beside it */
    free(large);
    CHECK(setrlimit(RLIMIT_AS, &before) == 0);
    CHECK(!mem_is_short());
    mem_keep_reserve(0);
}

#endif

TEST(without_a_reserve_memory_is_never_short)
{
    mem_keep_reserve(0);
    CHECK(!mem_is_short());
}
