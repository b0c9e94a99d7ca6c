/* counted_runs.c - an agent's newest runs by status and version. */
#include "features/fleet/counted_runs.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/map.h"
#include "features/events/runs_store.h"
#include "features/events/shapes.h"
#include "features/fleet/shapes.h"

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* Leaves the newest COUNTED_RUNS, without those that started when one that is left out did: so the
 * list of runs since the oldest of them has exactly these. Returns when that one started;
 * TIME_NULL: nothing is left out. */
static int64_t bound_counted(struct list *list)
{
    const struct recent_run *runs = list->items;
    size_t n = COUNTED_RUNS;

    if (list->n <= COUNTED_RUNS)
        return TIME_NULL;
    while (n > 0 && runs[n - 1].started_at == runs[COUNTED_RUNS].started_at)
        n--;
    list->n = n > 0 ? n : COUNTED_RUNS;
    return runs[list->n - 1].started_at;
}

static struct run_counts *counts_of(const struct list *list, struct arena *arena)
{
    struct run_counts *counts = ARENA_NEW(arena, struct run_counts);
    int64_t *durations = ARENA_ARRAY(arena, int64_t, list->n);
    const struct recent_run *runs = list->items;
    size_t ended = 0;

    counts->runs = (int64_t)list->n;
    counts->newest_at = list->n == 0 ? TIME_NULL : runs[0].started_at;
    for (size_t i = 0; i < list->n; i++) {
        counts->in_progress += runs[i].status == RUN_IN_PROGRESS;
        counts->completed += runs[i].status == RUN_COMPLETED;
        counts->failed += runs[i].status == RUN_FAILED;
        if (runs[i].duration_ms.has)
            durations[ended++] = runs[i].duration_ms.value;
    }
    if (ended == 0)
        return counts;
    qsort(durations, ended, sizeof(*durations), by_value);
    counts->median_duration_ms = (struct opt_int){ true, durations[(ended - 1) / 2] };
    return counts;
}

/* The versions of these runs, which are sorted newest first. */
static struct list find_versions(const struct list *list, struct arena *arena)
{
    struct agent_version *versions = ARENA_ARRAY(arena, struct agent_version, list->n);
    const struct recent_run *runs = list->items;
    struct map seen;
    size_t n = 0;

    map_init(&seen);
    for (size_t i = 0; i < list->n; i++) {
        struct agent_version *version = map_get(&seen, runs[i].agent_version);

        if (runs[i].agent_version.len == 0)
            continue;
        if (version == NULL) {
            version = &versions[n++];
            version->agent_version = runs[i].agent_version;
            version->last_run_at = runs[i].started_at;
            (void)map_put(&seen, version->agent_version, version);
        }
        version->runs++;
        version->first_run_at = runs[i].started_at;
    }
    map_done(&seen);
    return (struct list){ versions, n };
}

void count_runs(struct list *runs, struct arena *arena, struct agent_detail *ret)
{
    const int64_t since = bound_counted(runs);

    ret->versions = find_versions(runs, arena);
    ret->counts = counts_of(runs, arena);
    ret->counts->counted_since = since;
}
