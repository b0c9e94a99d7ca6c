/* cluster_store.h - what Citus says of itself and of its servers. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "shape/shape.h"

struct db;

/* A server of the cluster. */
struct cluster_node {
    struct str name; /* host and port */
    struct str role; /* coordinator, worker */
    bool active;
    bool holds;   /* it may have shards */
    bool answers; /* to the server that was asked, within the time it was given */
    int64_t shards;
};

struct cluster {
    struct str citus;  /* its version; null: it is not in this database */
    bool coordinator;  /* this server is it */
    bool named;        /* the coordinator's address is known to the workers */
    struct list nodes; /* of struct cluster_node */
    int64_t tables, distributed;
};

/* What keeps shards from moving to another server, or moves them. */
struct cluster_moves {
    int64_t running;     /* rebalances; only the coordinator knows */
    struct str unlogged; /* servers whose log cannot move shards, HOST:PORT, …; none: null */
};

struct cluster_sessions {
    int64_t sessions; /* of other processes of muster, on all servers */
    int64_t unknown;  /* workers that did not answer */
};

/* Reads what it says, and asks each server, which has `patience_s` seconds; without Citus only
 * `citus` is set. */
int cluster_read(struct db *db, int patience_s, struct arena *arena, struct cluster *ret,
                 struct error *err);

/* Asks all active servers, which answer. */
int cluster_read_moves(struct db *db, struct arena *arena, struct cluster_moves *ret,
                       struct error *err);

/* From now on the connection is not one of those that cluster_count_sessions() counts. */
int cluster_introduce(struct db *db, struct error *err);

/* The connections between servers that do not work, as "from HOST:PORT to HOST:PORT"; none: null.
 */
int cluster_broken(struct db *db, struct arena *arena, struct str *ret, struct error *err);

/* On the coordinator: connections of other processes of muster to any server, but for those of
 * cluster_introduce(). */
int cluster_count_sessions(struct db *db, struct arena *arena, int64_t *ret, struct error *err);

/* Only one process at a time distributes tables: ERR_BUSY. Held until the connection ends. */
int cluster_lock(struct db *db, struct error *err);
