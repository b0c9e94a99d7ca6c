/* feature.c - commands for a database that Citus spreads over several servers. */
#include "engine/feature.h"

#include "features/cluster/commands.h"
#include "features/features.h"

const struct feature cluster_feature = {
    .name = "cluster",
    .about = "A database over several servers.",
    .commands = { cluster_commands },
};
