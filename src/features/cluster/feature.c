/* feature.c - commands that spread a database over several servers of Citus, and show how it is
 * spread. */
#include "engine/feature.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/command.h"
#include "db/db.h"
#include "db/distribution.h"
#include "db/migrate.h"
#include "features/agents/agents.h"
#include "features/cluster/cluster_store.h"
#include "features/features.h"
#include "shape/table.h"

/* clang-format off */
STATIC_SHAPE(cluster_node, "ClusterNode", (),
    STR(name,    .flags = F_REQUIRED, .doc = "Host and port."),
    STR(role,    .flags = F_REQUIRED, .doc = "coordinator or worker."),
    BOOL(active, .flags = F_REQUIRED, .doc = "Citus uses it."),
    BOOL(holds,  .flags = F_REQUIRED, .doc = "It may have shards."),
    BOOL(answers, .flags = F_REQUIRED, .doc = "To the server that was asked, within seconds."),
    INT(shards,  .flags = F_REQUIRED, .doc = "Shards on it."));

STATIC_SHAPE(cluster, "Cluster", (),
    STR(citus,       .flags = F_REQUIRED, .doc = "The version of Citus."),
    BOOL(coordinator, .flags = F_REQUIRED, .doc = "This server is the coordinator."),
    INT(tables,      .flags = F_REQUIRED, .doc = "Tables of muster."),
    INT(distributed, .flags = F_REQUIRED, .doc = "Those that are distributed."),
    LIST(nodes, cluster_node_shape, .flags = F_REQUIRED, .doc = "The servers."));
/* clang-format on */

enum {
    CITUS_MIN = 13, /* the oldest that tests run on */
    STATUS_S = 5,   /* for a server to answer */
    ENABLE_S = 15,  /* as above: a refusal costs more than a wait */
};

static int open_database(const struct invocation *in, struct db **ret, struct error *err)
{
    const char *url = in->settings.database;

    if (!str_starts(str_of(url), STR_LIT("postgres")))
        return err_set(err, ERR_INVALID,
                       "cluster commands need PostgreSQL: give --database postgresql://…");
    if (db_open(url, DB_WRITER, ret, err) != 0)
        return -1;
    if (cluster_introduce(*ret, err) == 0)
        return 0;
    db_close(*ret);
    return -1;
}

static int check_citus(const struct cluster *c, struct error *err)
{
    if (str_is_null(c->citus))
        return err_set(err, ERR_FORBIDDEN,
                       "Citus is not in this database: run CREATE EXTENSION citus in it, on the "
                       "coordinator and on every worker");
    if (strtol(c->citus.data, NULL, 10) < CITUS_MIN)
        return err_set(err, ERR_FORBIDDEN, "Citus is %.*s here; %d or newer is needed",
                       STR_ARG(c->citus), CITUS_MIN);
    return 0;
}

/* Refuses what would fail half-way, or would be something else than was meant. */
static int check_cluster(const struct cluster *c, struct error *err)
{
    const struct cluster_node *nodes = c->nodes.items;
    size_t workers = 0;

    if (check_citus(c, err) != 0)
        return -1;
    if (!c->coordinator)
        return err_set(err, ERR_FORBIDDEN,
                       "this server is a worker: give the URL of the coordinator");
    if (!c->named)
        return err_set(err, ERR_FORBIDDEN,
                       "the workers do not know the coordinator's address: run SELECT "
                       "citus_set_coordinator_host('HOST', PORT)");
    for (size_t i = 0; i < c->nodes.n; i++) {
        workers += nodes[i].holds && !str_eq(nodes[i].role, STR_LIT("coordinator")) ? 1 : 0;
        if (!nodes[i].active)
            return err_set(err, ERR_UNAVAILABLE,
                           "%.*s is not active: run SELECT citus_activate_node(…), or remove it",
                           STR_ARG(nodes[i].name));
        if (!nodes[i].answers)
            return err_set(err, ERR_UNAVAILABLE,
                           "%.*s does not answer: start it, or see whether its address is right",
                           STR_ARG(nodes[i].name));
    }
    if (workers == 0)
        return err_set(err, ERR_FORBIDDEN,
                       "the cluster has no worker: run SELECT citus_add_node('HOST', PORT)");
    return 0;
}

/* Tables move while no node uses them, by whichever server. */
static int check_unused(struct invocation *in, struct db *db, const struct cluster *c,
                        struct error *err)
{
    int64_t sessions;

    if (c->distributed == c->tables)
        return 0;
    if (cluster_count_sessions(db, &in->arena, &sessions, err) != 0)
        return -1;
    return sessions == 0 ? 0
                         : err_set(err, ERR_BUSY,
                                   "muster is using this database (%" PRId64
                                   " connections): stop its nodes until the tables are distributed",
                                   sessions);
}

static int enable(struct invocation *in, struct db *db, struct cluster *c, size_t *ret_moved,
                  struct error *err)
{
    struct str broken;

    if (cluster_read(db, ENABLE_S, &in->arena, c, err) != 0 || check_cluster(c, err) != 0 ||
        cluster_broken(db, &in->arena, &broken, err) != 0)
        return -1;
    if (!str_is_null(broken))
        return err_set(err, ERR_UNAVAILABLE, "servers cannot connect: %.*s", STR_ARG(broken));
    if (cluster_lock(db, err) != 0 || check_unused(in, db, c, err) != 0 ||
        store_migrate(db, err) != 0 || agents_count_all(db, err) != 0 ||
        distribution_run(db, ret_moved, err) != 0 || distribution_clear(db, err) != 0)
        return -1;
    return cluster_read(db, ENABLE_S, &in->arena, c, err);
}

static bool all_answer(const struct cluster *c)
{
    const struct cluster_node *nodes = c->nodes.items;

    for (size_t i = 0; i < c->nodes.n; i++)
        if (nodes[i].active && !nodes[i].answers)
            return false;
    return true;
}

/* Skips the query when a server does not answer or the cluster has nothing to move. */
static int read_moves(struct invocation *in, struct db *db, const struct cluster *c,
                      struct cluster_moves *ret, struct error *err)
{
    *ret = (struct cluster_moves){ 0 };
    if (str_is_null(c->citus) || c->distributed < c->tables || !all_answer(c))
        return 0;
    return cluster_read_moves(db, &in->arena, ret, err);
}

static void say_unlogged(const struct cluster_moves *moves)
{
    if (!str_is_null(moves->unlogged))
        (void)printf("shards cannot be moved to other servers: set wal_level = logical on %.*s, "
                     "and restart there\n",
                     STR_ARG(moves->unlogged));
}

static void say_json(const struct cluster *c)
{
    BUF_SCOPED(out, SIZE_MAX);

    shape_write_json(&cluster_shape, c, &out);
    (void)printf("%.*s\n", STR_ARG(out));
}

static void say_nodes(const struct cluster *c)
{
    const struct cluster_node *nodes = c->nodes.items;

    for (size_t i = 0; i < c->nodes.n; i++)
        (void)printf("%-11.*s  %.*s  %" PRId64 " shards%s%s\n", STR_ARG(nodes[i].role),
                     STR_ARG(nodes[i].name), nodes[i].shards, nodes[i].active ? "" : ", inactive",
                     nodes[i].answers ? "" : ", does not answer");
}

/* Among those that a rebalance would use. */
static bool is_uneven(const struct cluster *c)
{
    const struct cluster_node *nodes = c->nodes.items;
    int64_t least = INT64_MAX, most = 0;

    for (size_t i = 0; i < c->nodes.n; i++) {
        if (!nodes[i].holds || !nodes[i].active)
            continue;
        least = nodes[i].shards < least ? nodes[i].shards : least;
        most = nodes[i].shards > most ? nodes[i].shards : most;
    }
    return least < most / 2;
}

static void say_advice(const struct cluster *c, const struct cluster_moves *moves)
{
    struct error why = { 0 };

    if (c->distributed < c->tables) {
        if (check_cluster(c, &why) != 0)
            (void)printf("before `muster cluster enable`: %s\n", why.text);
        else
            (void)printf("stop the nodes of muster, then: muster cluster enable --database URL\n");
        return;
    }
    if (!all_answer(c)) {
        (void)printf("requests of the tenants on a server that does not answer fail until it "
                     "does: start it\n");
        return;
    }
    say_unlogged(moves);
    if (moves->running > 0)
        (void)printf("shards are being moved; how far that is, on the coordinator: SELECT * FROM "
                     "citus_rebalance_status()\n");
    else if (is_uneven(c) && str_is_null(moves->unlogged))
        (void)printf("a server has less than half of another's shards; to move some while muster "
                     "runs, on the coordinator: SELECT citus_rebalance_start()\n");
}

static void say_enabled(const struct cluster *c, size_t moved, const struct cluster_moves *moves)
{
    if (moved == 0)
        (void)printf("all %" PRId64 " tables were distributed already\n", c->tables);
    else
        (void)printf("%zu tables are distributed now; start muster with any server's URL\n", moved);
    say_unlogged(moves);
}

static void say_status(const struct cluster *c, const struct cluster_moves *moves)
{
    (void)printf("Citus        %.*s, asked on %s\n", STR_ARG(c->citus),
                 c->coordinator ? "the coordinator" : "a worker");
    (void)printf("tables       %" PRId64 " of %" PRId64 " are distributed\n", c->distributed,
                 c->tables);
    say_nodes(c);
    say_advice(c, moves);
}

/* The status fails when a server that Citus uses does not answer, after it has said everything. */
static int cluster_run(struct invocation *in)
{
    const bool enables = strcmp(in->command->verb, "enable") == 0;
    struct error err = { 0 };
    struct cluster_moves moves;
    struct cluster c;
    struct db *db = NULL;
    size_t moved = 0;
    int r;

    if (open_database(in, &db, &err) != 0)
        return command_fail(&err);
    r = enables ? enable(in, db, &c, &moved, &err)
                : cluster_read(db, STATUS_S, &in->arena, &c, &err);
    if (r == 0)
        r = read_moves(in, db, &c, &moves, &err);
    db_close(db);
    if (r != 0 || check_citus(&c, &err) != 0)
        return command_fail(&err);
    if (in->json)
        say_json(&c);
    else if (enables)
        say_enabled(&c, moved, &moves);
    else
        say_status(&c, &moves);
    return enables || all_answer(&c) ? EXIT_DONE : EXIT_FAILED;
}

/* clang-format off */
static const struct command cluster_commands[] = {
    { "cluster", "enable", .local_only = true,
      .help = "distribute the tables over the servers of a Citus cluster; may be run again",
      .examples = "muster cluster enable --database postgresql://muster@coordinator/muster",
      .run = cluster_run },
    { "cluster", "status", .local_only = true,
      .help = "show the servers of a Citus cluster, whether they answer, their shards, and what to do",
      .examples = "muster cluster status --database postgresql://muster@coordinator/muster",
      .run = cluster_run },
    { 0 },
};
/* clang-format on */

const struct feature cluster_feature = {
    .name = "cluster",
    .about = "A database over several servers.",
    .commands = { cluster_commands },
};
