/* metrics.c - cells of each thread, and the sum over them as text.
 *
 * A thread's block of cells outlives it: its counts stay, and the next new
 * thread reuses the block.
 */
#include "base/metrics.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/err.h"
#include "base/lock.h"
#include "base/mem.h"

enum { BUCKETS = 16, HISTOGRAM_CELLS = BUCKETS + 2 }; /* and one beyond all bounds, and the sum */

enum histogram_unit { HISTOGRAM_US, HISTOGRAM_N };

struct histogram_row {
    const char *name, *labels;
    enum histogram_unit unit;
    const char *help;
};

#define METRIC_ROW(id, name, labels, help) [id] = { name, labels, help },
static const struct metric_row metric_rows[] = { METRIC_MAP(METRIC_ROW) };
#undef METRIC_ROW

static const struct metric_row *further_rows;
static size_t n_further;

#define HISTOGRAM_ROW(id, name, labels, unit, help) [id] = { name, labels, unit, help },
static const struct histogram_row histogram_rows[] = { HISTOGRAM_MAP(HISTOGRAM_ROW) };
#undef HISTOGRAM_ROW

/* Upper bounds, inclusive: microseconds, and their text in seconds; numbers. */
static const struct {
    uint64_t us;
    const char *seconds;
    uint64_t n;
} thresholds[BUCKETS] = {
    { 100, "0.0001", 1 },       { 250, "0.00025", 2 },    { 500, "0.0005", 5 },
    { 1000, "0.001", 10 },      { 2500, "0.0025", 25 },   { 5000, "0.005", 50 },
    { 10000, "0.01", 100 },     { 25000, "0.025", 250 },  { 50000, "0.05", 500 },
    { 100000, "0.1", 1000 },    { 250000, "0.25", 1500 }, { 500000, "0.5", 2000 },
    { 1000000, "1.0", 2500 },   { 2500000, "2.5", 3000 }, { 5000000, "5.0", 4000 },
    { 10000000, "10.0", 5000 },
};

#define GAUGE_ROW(id, name, help) [id] = { name, "", help },
static const struct metric_row gauge_rows[] = { GAUGE_MAP(GAUGE_ROW) };
#undef GAUGE_ROW

enum {
    GAUGE_AT = METRICS_MAX,
    HISTOGRAM_AT = GAUGE_AT + GAUGES_N,
    EXTRA_AT = HISTOGRAM_AT + HISTOGRAMS_N * HISTOGRAM_CELLS,
    CELLS = EXTRA_AT + METRIC_EXTRA_MAX,
};

struct block {
    struct block *next; /* in the list of all */
    bool used;          /* by a live thread; guarded by `lock` */
    _Atomic uint64_t cells[CELLS];
};

static struct lock lock = LOCK_INITIALIZER;
static struct block *blocks GUARDED_BY(lock);
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_exit;
static _Thread_local struct block *mine;

static void give_back(void *arg)
{
    struct block *block = arg;

    lock_acquire(&lock);
    block->used = false;
    lock_release(&lock);
}

static void make_key(void)
{
    if (pthread_key_create(&at_exit, give_back) != 0)
        err_die("metrics: no key for thread-specific data is left");
}

static struct block *take_block(void)
{
    struct block *block;

    (void)pthread_once(&once, make_key);
    lock_acquire(&lock);
    block = blocks;
    while (block != NULL && block->used)
        block = block->next;
    if (block == NULL) {
        block = NEW(struct block);
        block->next = blocks;
        blocks = block;
    }
    block->used = true;
    lock_release(&lock);
    (void)pthread_setspecific(at_exit, block);
    mine = block;
    return block;
}

/* Only this thread writes to its cells, so no atomic read-modify-write is needed. */
static void add(size_t cell, uint64_t n)
{
    struct block *block = mine != NULL ? mine : take_block();
    uint64_t before = atomic_load_explicit(&block->cells[cell], memory_order_relaxed);

    atomic_store_explicit(&block->cells[cell], before + n, memory_order_relaxed);
}

static uint64_t sum(size_t cell)
{
    uint64_t total = 0;

    lock_acquire(&lock);
    for (struct block *block = blocks; block != NULL; block = block->next)
        total += atomic_load_explicit(&block->cells[cell], memory_order_relaxed);
    lock_release(&lock);
    return total;
}

void metric_add(unsigned metric, uint64_t n)
{
    add(metric, n);
}

void metric_move(enum metric_gauge gauge, int64_t by)
{
    add(GAUGE_AT + (size_t)gauge, (uint64_t)by); /* sums wrap around to what is right */
}

uint64_t metric_sum(unsigned metric)
{
    return sum(metric);
}

void metric_extra_add(size_t cell, uint64_t n)
{
    if (cell < METRIC_EXTRA_MAX)
        add(EXTRA_AT + cell, n);
}

uint64_t metric_extra_sum(size_t cell)
{
    return cell < METRIC_EXTRA_MAX ? sum(EXTRA_AT + cell) : 0;
}

static uint64_t bound_of(enum metric_histogram histogram, size_t i)
{
    return histogram_rows[histogram].unit == HISTOGRAM_US ? thresholds[i].us : thresholds[i].n;
}

void metric_observe(enum metric_histogram histogram, uint64_t value)
{
    size_t first = HISTOGRAM_AT + (size_t)histogram * HISTOGRAM_CELLS, i = 0;

    while (i < BUCKETS && value > bound_of(histogram, i))
        i++;
    add(first + i, 1);
    add(first + BUCKETS + 1, value);
}

void metric_print_head(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_printf(out, "# HELP %s %s.\n# TYPE %s %s\n", name, help, name, type);
}

void metric_register(const struct metric_row *rows, size_t n)
{
    ASSERT_ALWAYS(METRICS_OWN + n <= METRICS_MAX);
    further_rows = rows;
    n_further = n;
}

static const struct metric_row *row_of(unsigned metric)
{
    return metric < METRICS_OWN ? &metric_rows[metric] : &further_rows[metric - METRICS_OWN];
}

/* All counters of a name, below one head, if this is the first of them. */
static void print_family(struct buf *out, unsigned first)
{
    const struct metric_row *head = row_of(first), *row;

    for (unsigned i = 0; i < METRICS_OWN + n_further; i++) {
        row = row_of(i);
        if (strcmp(row->name, head->name) != 0)
            continue;
        if (i < first)
            return;
        if (i == first)
            metric_print_head(out, row->name, "counter", row->help);
        buf_printf(out, row->labels[0] == '\0' ? "%s%s %llu\n" : "%s{%s} %llu\n", row->name,
                   row->labels, (unsigned long long)metric_sum(i));
    }
}

/* A number of the histogram's unit: seconds to the microsecond. */
static void print_value(struct buf *out, enum histogram_unit unit, uint64_t value)
{
    if (unit == HISTOGRAM_US)
        buf_printf(out, "%llu.%06llu", (unsigned long long)(value / 1000000),
                   (unsigned long long)(value % 1000000));
    else
        buf_printf(out, "%llu", (unsigned long long)value);
}

static void print_bucket(struct buf *out, const struct histogram_row *row, size_t i, uint64_t n)
{
    buf_printf(out, "%s_bucket{%s%sle=\"", row->name, row->labels,
               row->labels[0] == '\0' ? "" : ",");
    if (i == BUCKETS)
        buf_add_c(out, "+Inf");
    else if (row->unit == HISTOGRAM_US)
        buf_add_c(out, thresholds[i].seconds);
    else
        buf_printf(out, "%llu", (unsigned long long)thresholds[i].n);
    buf_printf(out, "\"} %llu\n", (unsigned long long)n);
}

static void print_histogram(struct buf *out, enum metric_histogram histogram)
{
    const struct histogram_row *row = &histogram_rows[histogram];
    size_t first = HISTOGRAM_AT + (size_t)histogram * HISTOGRAM_CELLS;
    const char *open = row->labels[0] == '\0' ? "" : "{";
    const char *close = row->labels[0] == '\0' ? "" : "}";
    uint64_t n = 0;

    if (row->help[0] != '\0')
        metric_print_head(out, row->name, "histogram", row->help);
    for (size_t i = 0; i <= BUCKETS; i++) {
        n += sum(first + i);
        print_bucket(out, row, i, n);
    }
    buf_printf(out, "%s_sum%s%s%s ", row->name, open, row->labels, close);
    print_value(out, row->unit, sum(first + BUCKETS + 1));
    buf_printf(out, "\n%s_count%s%s%s %llu\n", row->name, open, row->labels, close,
               (unsigned long long)n);
}

void metric_print(struct buf *out)
{
    for (unsigned i = 0; i < METRICS_OWN + n_further; i++)
        print_family(out, i);
    for (int i = 0; i < GAUGES_N; i++) {
        metric_print_head(out, gauge_rows[i].name, "gauge", gauge_rows[i].help);
        buf_printf(out, "%s %lld\n", gauge_rows[i].name, (long long)sum(GAUGE_AT + (size_t)i));
    }
    for (int i = 0; i < HISTOGRAMS_N; i++)
        print_histogram(out, (enum metric_histogram)i);
}
