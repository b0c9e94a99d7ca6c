/* scrape.h - a workspace's agents, runs, tokens, cost and KPIs as Prometheus reads them.
 *
 * The cost of an answer is bounded: the states of 10,000 agents, 1,000 of them
 * by name; the newest 10,000 runs of the range; 1,000 groups of usage; the KPIs
 * that a summary has; and bytes for each part. What is left out is told by
 * muster_workspace_truncated.
 */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "features/fleet/fleet.h"
#include "shape/timerange.h"

struct db;
struct prices;

/* Bytes of an answer. */
enum { SCRAPE_TEXT_MAX = 18 << 20 };

struct scrape {
    struct fleet_view view; /* of the workspace */
    struct prices *prices;
    struct time_range range;
    struct str time_range; /* the same, as given */
};

/* Adds all families to `out`, whose ceiling is at least SCRAPE_TEXT_MAX. */
int scrape_write(struct db *db, const struct scrape *scrape, struct arena *arena, struct buf *out,
                 struct error *err) MUST_CHECK;
