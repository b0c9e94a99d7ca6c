/* parts.h - which server of a distributed database has the rows of a tenant.
 *
 * Citus hashes a tenant's number and gives ranges of hashes to servers. One
 * transaction that changes rows on two servers is committed in two phases and
 * fails if either is away; so the writer forms its groups by part.
 *
 * What this says may be out of date while rows move, or wrong: then a
 * transaction takes two phases. If it fails because a server is away, the
 * writer asks again, and tries the jobs one by one if some are of another.
 */
#pragma once
#include "base/err.h"

struct db;

struct part_range {
    int64_t first, last; /* hashes */
    int64_t part;        /* never 0 */
};

/* What a group or a read of a part met. */
enum part_state {
    PART_UNKNOWN, /* no verdict: the connection's own server failed, or did not say who has the
                     tenant */
    PART_ANSWERS,
    PART_SLOW,  /* its server answers, but something took too long there: it waited for a lock */
    PART_STUCK, /* its server answers, but a commit there did not return */
    PART_AWAY,  /* its server refuses at once */
    PART_HUNG,  /* its server does not answer */
};

/* May a read of a part begin? */
enum part_read {
    READ_MAY,
    READ_MAY_NOT, /* its server hangs */
    READ_TRIES,   /* it hung a while ago: this one finds out, and others may not meanwhile */
};

enum { PARTS_PROBE_US = 4000000 }; /* how long parts_probe() should be given, if there is time */

struct parts {
    struct part_range *ranges; /* by hash; they do not overlap */
    size_t n;                  /* 0: the database is not distributed */
};

/* Asks the database, if it is distributed. The caller owns *ret, also after a failure. */
int parts_load(struct db *db, struct parts *ret, struct error *err) MUST_CHECK;

void parts_done(struct parts *p);

/* Something of this tenant (0: of several) was not answered in time on the connection, which is in
 * no transaction: asks which server has whom, and then that one for very little; waits for
 * `max_us` at most, half of it for each of the two. Afterwards the connection has its usual
 * patience. The caller owns *ret, which is good unless the state is PART_UNKNOWN. */
enum part_state parts_probe(struct db *db, int64_t tenant_id, int64_t max_us, struct parts *ret);

/* 0: unknown, there are no parts, or the tenant is 0: what belongs to several. */
int64_t parts_of(const struct parts *p, int64_t tenant_id);

/* As PostgreSQL hashes a bigint. */
int32_t parts_hash(int64_t tenant_id);
