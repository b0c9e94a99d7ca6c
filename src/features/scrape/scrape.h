/* scrape.h - a workspace's agents, runs, tokens, cost and KPIs as Prometheus reads them.
 *
 * The cost of an answer is bounded: the states of 10,000 agents, 1,000 of them
 * by name; the newest 10,000 runs of the range; 1,000 groups of usage; the KPIs
 * that a summary has; and bytes for each part. What is left out is told by
 * muster_workspace_truncated.
 */
#pragma once
#include <stdbool.h>

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

/* The text format, version 0.0.4, in parts of bounded size. A part is one family, or a few that are
 * written together. Samples that would take it beyond its bytes are left out and the part says so:
 * an answer is cut between two samples, never inside one. */
struct exposition {
    struct buf *out;
    size_t part_end; /* of `out`; no sample begins beyond it */
    bool cut;        /* samples of this part were left out */
};

/* Bytes of one sample: the name and a few labels of at most 1 KiB each, each byte escaped. */
enum { EXPOSITION_SAMPLE_MAX = 16 << 10, EXPOSITION_LABEL_MAX = 1 << 10 };

struct exposition_label {
    const char *name;
    struct str value; /* what is beyond EXPOSITION_LABEL_MAX bytes is cut off; null: empty */
};

/* Begins a part of at most `bytes_max`, and one sample. */
void exposition_begin(struct exposition *e, struct buf *out, size_t bytes_max);

/* HELP (a sentence without a full stop) and TYPE. */
void exposition_head(struct exposition *e, const char *name, const char *help);

/* A sample whose value is a number as text. */
void exposition_add(struct exposition *e, const char *name, const struct exposition_label *labels,
                    size_t n, struct str value);
void exposition_add_int(struct exposition *e, const char *name,
                        const struct exposition_label *labels, size_t n, int64_t value);
