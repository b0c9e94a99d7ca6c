/* shapes.c - what a recount of a tenant's reports found. */
#include "features/retention/shapes.h"

#include "shape/table.h"

/* clang-format off */
SHAPE(bytes_correction, "BytesCorrection", (.doc = "What a recount found.",
      .example = EXAMPLE({"correction": -4096})),
    INT(correction, .least = -(INT64_C(1) << 53), .most = INT64_C(1) << 53, .flags = F_REQUIRED, .doc = "Bytes that stored reports take beyond what was counted when they were stored and deleted; less: negative."));
/* clang-format on */
