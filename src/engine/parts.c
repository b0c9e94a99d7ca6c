/* parts.c - the ranges of hashes of Citus, and its hash. */
#include "engine/parts.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "db/db.h"
#include "db/distribution.h"

static void add_range(void *ctx, int64_t first, int64_t last, int64_t server)
{
    struct parts *p = ctx;

    if ((p->n & (p->n - 1)) == 0) /* full: its room is a power of two */
        p->ranges = mem_resize(p->ranges, (p->n == 0 ? 1 : 2 * p->n) * sizeof(*p->ranges));
    p->ranges[p->n++] = (struct part_range){ first, last, server + 1 };
}

int parts_load(struct db *db, struct parts *ret, struct error *err)
{
    *ret = (struct parts){ 0 };
    return distribution_ranges(db, add_range, ret, err);
}

void parts_done(struct parts *p)
{
    free(p->ranges);
    *p = (struct parts){ 0 };
}

/* For one of the two steps, which take milliseconds. */
static void set_patience(struct db *db, int64_t max_us)
{
    db_set_patience(db, clock_raw_us() + max_us / 2);
}

/* Also asks which server has whom: rows may have moved, and what is said of the server that had
 * them before would be wrong. */
static int ping_and_load(struct db *db, int64_t max_us, struct parts *ret)
{
    *ret = (struct parts){ 0 };
    set_patience(db, max_us);
    if (db_ping(db, NULL) != 0)
        return -1;
    return parts_load(db, ret, NULL);
}

enum part_state parts_probe(struct db *db, int64_t tenant_id, int64_t max_us, struct parts *ret)
{
    enum part_state state = PART_UNKNOWN;

    if (ping_and_load(db, max_us, ret) == 0) {
        set_patience(db, max_us);
        if (distribution_ask(db, tenant_id, NULL) == 0)
            state = PART_SLOW;
        else if (db_part_is_away(db))
            state = PART_AWAY;
        else if (db_is_silent(db))
            state = PART_HUNG;
    }
    db_set_patience(db, 0);
    return state;
}

static uint32_t rotate(uint32_t x, unsigned by)
{
    return x << by | x >> (32 - by);
}

/* hashint8() and hash_bytes_uint32() of PostgreSQL: the last mix of Bob Jenkins' lookup3. */
int32_t parts_hash(int64_t tenant_id)
{
    const uint32_t high = (uint32_t)((uint64_t)tenant_id >> 32);
    uint32_t a, b, c;

    a = b = c = 0x9e3779b9U + (uint32_t)sizeof(uint32_t) + 3923095U;
    a += (uint32_t)tenant_id ^ (tenant_id >= 0 ? high : ~high);
    c = (c ^ b) - rotate(b, 14);
    a = (a ^ c) - rotate(c, 11);
    b = (b ^ a) - rotate(a, 25);
    c = (c ^ b) - rotate(b, 16);
    a = (a ^ c) - rotate(c, 4);
    b = (b ^ a) - rotate(a, 14);
    c = (c ^ b) - rotate(b, 24);
    return (int32_t)c;
}

int64_t parts_of(const struct parts *p, int64_t tenant_id)
{
    const int64_t hash = parts_hash(tenant_id);
    size_t first = 0, end = p->n;

    if (tenant_id == 0)
        return 0; /* several tenants: the hash of 0 would name any server */
    while (first < end) {
        const size_t middle = first + (end - first) / 2;

        if (p->ranges[middle].last < hash)
            first = middle + 1;
        else
            end = middle;
    }
    return first < p->n && p->ranges[first].first <= hash ? p->ranges[first].part : 0;
}
