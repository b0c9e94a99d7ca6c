/* shapes.c - the shapes of a cluster. */
#include "features/cluster/shapes.h"

#include "features/cluster/cluster_store.h"
#include "shape/table.h"

/* clang-format off */
STATIC_SHAPE(cluster_node, "ClusterNode", (),
    STR(name,    .flags = F_REQUIRED, .doc = "Host and port."),
    STR(role,    .flags = F_REQUIRED, .doc = "coordinator or worker."),
    BOOL(active, .flags = F_REQUIRED, .doc = "Citus uses it."),
    BOOL(holds,  .flags = F_REQUIRED, .doc = "It may have shards."),
    BOOL(answers, .flags = F_REQUIRED, .doc = "To the server that was asked, within seconds."),
    INT(shards,  .flags = F_REQUIRED, .doc = "Shards on it."));

SHAPE(cluster, "Cluster", (),
    STR(citus,       .flags = F_REQUIRED, .doc = "The version of Citus."),
    BOOL(coordinator, .flags = F_REQUIRED, .doc = "This server is the coordinator."),
    INT(tables,      .flags = F_REQUIRED, .doc = "Tables of muster."),
    INT(distributed, .flags = F_REQUIRED, .doc = "Those that are distributed."),
    LIST(nodes, cluster_node_shape, .flags = F_REQUIRED, .doc = "The servers."));
/* clang-format on */
