/* event_kinds_store.h - SQL of the texts that many events have in common. SQLite only. */
#pragma once
#include "base/err.h"
#include "base/str.h"

struct db;

struct event_kind {
    int64_t tenant_id;
    struct str agent_version, level, category, source;
};

/* The strings are valid during the call. */
typedef void event_kind_fn(void *ctx, int64_t kind_no, const struct event_kind *kind);

/* All of them, in the order of their numbers. */
int store_event_kinds(struct db *db, event_kind_fn *fn, void *ctx, struct error *err) MUST_CHECK;

struct kind_walker {
    void (*fn)(void *ctx, int64_t event_no, int64_t kind_no);
    void *ctx;
    size_t n; /* how many events it was called for */
};

/* Calls fn for up to `limit` events after `event_no`, in order. */
int store_kinds_of_events(struct db *db, int64_t event_no, int64_t limit,
                          struct kind_walker *walker, struct error *err) MUST_CHECK;

int store_drop_event_kind(struct db *db, int64_t kind_no, struct error *err) MUST_CHECK;

int store_add_event_kind(struct db *db, int64_t kind_no, const struct event_kind *kind,
                         struct error *err) MUST_CHECK;
