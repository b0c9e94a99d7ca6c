/* throttle_store.h - SQL of failed sign-ins, which all processes count together.
 *
 * An attempt is stored as a failure before its password is checked, so that
 * attempts at several processes at once cannot exceed the limit, and taken out
 * again if it does not fail.
 */
#pragma once
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"

struct db;

/* One attempt, and what it is counted for: who tries, and from where. */
struct throttle_row {
    struct sha256 who, where;
    struct str attempt;
    int64_t at; /* wall clock */
};

/* Deletes what failed before `since` too. */
int store_failure_add(struct db *db, const struct throttle_row *row, int64_t since,
                      struct error *err) MUST_CHECK;

/* How many attempts for `about` there are up to this one, since then, and when the oldest was. */
struct throttle_rank {
    int64_t n, oldest_at;
};

int store_failure_rank(struct db *db, const struct sha256 *about, const struct throttle_row *row,
                       int64_t since, struct throttle_rank *ret, struct error *err) MUST_CHECK;

/* The attempt did not fail. */
int store_failure_remove(struct db *db, const struct throttle_row *row,
                         struct error *err) MUST_CHECK;

/* The account's owner signed in: nothing counts for it any more. */
int store_failures_clear(struct db *db, const struct throttle_row *row,
                         struct error *err) MUST_CHECK;
