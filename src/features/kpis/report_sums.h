/* report_sums.h - the checksums of stored business reports (db/row_sum.h).
 *
 * The columns that a sum covers, and the checksum, as queries select them; `t`
 * is the table's alias with a dot, or empty.
 */
#pragma once
#include "db/row_sum.h"
#include "features/access/stored_bytes.h"

#define BUSINESS_RUN_SUMMED(t)                                                                     \
    t "tenant_id, " t "agent_id, " t "run_id, " t "timestamp, " t "agent_version, " t              \
      "workflow_run_id, " t "checksum"
#define BUSINESS_VALUE_SUMMED(t)                                                                   \
    t "tenant_id, " t "run_no, " t "key, " t "full_key, " t "agent_id, " t "timestamp, " t         \
      "received_at, " t "integer_value, " t "real_value, " t "text_value, " t "checksum"
#define BUSINESS_BREAKDOWN_SUMMED(t)                                                               \
    t "tenant_id, " t "run_no, " t "metric, " t "dimensions, " t "full_dimensions, " t             \
      "agent_id, " t "timestamp, " t "received_at, " t "cells, " t "checksum"

/* What a value and a breakdown count for their tenant (access/stored_bytes.h), in SQL; the same
 * here.
 */
#define BUSINESS_VALUE_BYTES(text) STORED_ROW text("key") text("full_key") text("text_value")
#define BUSINESS_BREAKDOWN_BYTES(text)                                                             \
    STORED_ROW text("metric") text("dimensions") text("full_dimensions") text("cells")

/* Where to find them in such a row; what follows them begins at …_NEXT. */
enum { RUN_AT_ID = 2, RUN_AT_VERSION = 4, RUN_AT_WORKFLOW = 5, RUN_AT_NEXT = 7 };
enum {
    VALUE_AT_TENANT,
    VALUE_AT_RUN_NO,
    VALUE_AT_KEY,
    VALUE_AT_FULL_KEY,
    VALUE_AT_AGENT,
    VALUE_AT_TIMESTAMP,
    VALUE_AT_RECEIVED,
    VALUE_AT_NUMBER, /* two columns */
    VALUE_AT_TEXT = 9,
    VALUE_AT_NEXT = 11,
};
enum {
    BREAKDOWN_AT_RUN_NO = 1,
    BREAKDOWN_AT_METRIC,
    BREAKDOWN_AT_DIMENSIONS,
    BREAKDOWN_AT_FULL_DIMENSIONS,
    BREAKDOWN_AT_TIMESTAMP = 6,
    BREAKDOWN_AT_RECEIVED,
    BREAKDOWN_AT_CELLS,
    BREAKDOWN_AT_NEXT = 10,
};

extern const struct row_sum business_run_sum;
extern const struct row_sum business_value_sum;
extern const struct row_sum business_breakdown_sum;
