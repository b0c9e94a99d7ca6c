/* metrics_wire.c - metrics in protobuf, of which the data points are counted. */
#include "features/otlp/read.h"
#include "features/otlp/wire.h"

/* The message at each level, and what leads to the next: the request, ResourceMetrics,
 * ScopeMetrics, Metric, and one of Gauge, Sum, Histogram, ExponentialHistogram and Summary. */
enum level { IN_REQUEST, IN_RESOURCE, IN_SCOPE, IN_METRIC, IN_DATA };

static bool leads_on(enum level level, uint64_t tag)
{
    switch (level) {
    case IN_RESOURCE:
    case IN_SCOPE:
        return tag == WIRE_BYTES(2);
    case IN_METRIC:
        return tag == WIRE_BYTES(5) || tag == WIRE_BYTES(7) || tag == WIRE_BYTES(9) ||
               tag == WIRE_BYTES(10) || tag == WIRE_BYTES(11);
    default:
        return tag == WIRE_BYTES(1);
    }
}

/* False: malformed. */
static bool count_points(struct str message, enum level level, size_t *n)
{
    struct wire w = wire_of(message);
    struct wire_field f;

    while (wire_next(&w, &f)) {
        if (!leads_on(level, f.tag))
            continue;
        if (level == IN_DATA)
            ++*n;
        else if (!count_points(f.bytes, level + 1, n))
            return false;
    }
    return !w.malformed;
}

enum otlp_result otlp_read_metrics_wire(struct str body, const struct otlp_sink *sink)
{
    size_t n = 0;

    if (!count_points(body, IN_REQUEST, &n))
        return OTLP_MALFORMED;
    return sink->on_metrics(sink->ctx, n) ? OTLP_READ : OTLP_STOPPED;
}
