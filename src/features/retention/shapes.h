/* shapes.h - what a recount of a tenant's reports found.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

struct bytes_correction {
    int64_t correction;
};

extern const struct shape bytes_correction_shape;
