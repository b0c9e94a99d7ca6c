/* shapes.h - what `muster cluster status` says.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

/* Of struct cluster (cluster_store.h). */
extern const struct shape cluster_shape;
