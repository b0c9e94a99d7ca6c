/* exposition.h - writes Prometheus' text format, version 0.0.4, in parts of bounded size. */
#pragma once
#include "base/buf.h"

#define EXPOSITION_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* A part is one family, or a few that are written together. Samples that would take it beyond its
 * bytes are left out and the part says so: an answer is cut between two samples, never inside one.
 */
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

/* Begins a part of at most `bytes_max`, and one sample; SIZE_MAX: it has no bound. */
void exposition_begin(struct exposition *e, struct buf *out, size_t bytes_max);

/* HELP (a sentence without a full stop) and TYPE: "gauge" or "counter". */
void exposition_head(struct exposition *e, const char *name, const char *type, const char *help);

/* A sample whose value is a number as text. */
void exposition_add(struct exposition *e, const char *name, const struct exposition_label *labels,
                    size_t n, struct str value);
void exposition_add_int(struct exposition *e, const char *name,
                        const struct exposition_label *labels, size_t n, int64_t value);
