/* feature.c - how long data is kept: routes, the ticks that delete, and the size of what is stored.
 */
#include "engine/feature.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "api/call.h"
#include "base/clock.h"
#include "base/mem.h"
#include "db/embedded.h"
#include "engine/engine.h"
#include "features/access/registry.h"
#include "features/access/retention.h"
#include "features/access/shapes.h"
#include "features/access/stored_bytes.h"
#include "features/access/tenants.h"
#include "features/events/event_log.h"
#include "features/features.h"
#include "features/retention/retention.h"
#include "features/retention/sweep.h"
#include "shape/table.h"

enum { SIZE_PERIOD_TICKS = 10 };

struct retention {
    struct sweep *sweep;         /* NULL: this engine serves no agents */
    struct erasure *erasure;     /* the same */
    unsigned ticks;              /* the watcher's */
    _Atomic int64_t store_bytes; /* when last measured */
};

int64_t retention_store_bytes(const struct engine *e)
{
    const struct retention *retention = engine_state(e, &retention_feature);

    return atomic_load(&retention->store_bytes);
}

static int retention_open(struct engine *e, void **ret_state, struct error *err)
{
    (void)e;
    (void)err;
    *ret_state = NEW(struct retention);
    return 0;
}

static void measure(struct engine *e, struct retention *retention)
{
    int64_t bytes;

    if (db_size(engine_watch_db(e), &bytes, NULL) == 0)
        atomic_store(&retention->store_bytes, bytes);
}

static int retention_start(struct engine *e, struct error *err)
{
    struct retention *retention = engine_state(e, &retention_feature);
    const struct sweep_options options = { engine_watch_db(e), engine_writer(e), events_log(e),
                                           engine_is_shared(e) };
    const struct tick now = engine_now(e, true);

    (void)err;
    measure(e, retention);
    if (engine_serves(e)) {
        retention->sweep = sweep_new(&options, now.wall_us, now.mono_us);
        retention->erasure = erasure_new(&options);
    }
    return 0;
}

static int retention_tick(struct engine *e, const struct tick *tick, struct error *err)
{
    struct retention *retention = engine_state(e, &retention_feature);

    if (retention->ticks++ % SIZE_PERIOD_TICKS == 0 && tick->healthy)
        measure(e, retention);
    if (retention->sweep == NULL || !tick->healthy)
        return 0;
    if (erasure_tick(retention->erasure, tick->wall_us, err) != 0)
        return -1;
    return sweep_tick(retention->sweep, tick->wall_us, tick->mono_us, err);
}

static void retention_close(void *state)
{
    struct retention *retention = state;

    if (retention == NULL)
        return;
    sweep_free(retention->sweep);
    erasure_free(retention->erasure);
    free(retention);
}

static int show_retention(struct api_call *call, struct db *db, struct error *err)
{
    return retention_load(db, call->tenant_id, call->answer, err);
}

static int set_retention(struct api_call *call, struct db *db, struct error *err)
{
    const struct retention_limits *limits = call->body;
    BUF_SCOPED(detail, KIB(1));

    shape_write_json(&retention_shape, limits, &detail);
    call->audit_detail = buf_take(&detail, call->arena);
    if (retention_set(db, call->tenant_id, limits, clock_wall_us(), err) != 0)
        return -1;
    return show_retention(call, db, err);
}

static int correct_bytes(struct api_call *call, struct db *db, struct error *err)
{
    const struct bytes_correction *found = call->body;

    call->audit_target = call->tenant->slug;
    call->audit_detail =
        arena_printf(call->arena, "{\"correction\":%lld}", (long long)found->correction);
    if (tenant_correct(db, call->tenant->id, found->correction, err) != 0)
        return -1;
    return tenants_show(call, db, err);
}

/* clang-format off */
SHAPE(bytes_correction, "BytesCorrection", (.doc = "What a recount found.",
      .example = EXAMPLE({"correction": -4096})),
    INT(correction, .least = -(INT64_C(1) << 53), .most = INT64_C(1) << 53, .flags = F_REQUIRED, .doc = "Bytes that stored reports take beyond what was counted when they were stored and deleted; less: negative."));

static const struct route retention_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/retention", MEMBER, 200), .read = show_retention, .params = &tenant_path_shape, .answer = &retention_shape,
      .id = "get_retention", .summary = "Get how long a workspace's data is kept",
      .description = "Null days mean that nothing is deleted." },
    { ROUTE(PUT, "/api/v1/tenants/{slug}/retention", ADMIN, 200), .change = set_retention, .topic = CHANGE_NOTHING, .params = &tenant_path_shape, .body = &retention_shape, .answer = &retention_shape, .audit = "retention.set",
      .id = "set_retention", .summary = "Replace how long a workspace's data is kept",
      .description = "Older data is deleted within minutes and cannot be restored. Totals of KPIs and LLM usage stay." },
    { ROUTE(PUT, "/api/v1/tenants/{slug}/bytes-correction", PLATFORM, 200), .change = correct_bytes, .topic = CHANGE_NOTHING, .params = &tenant_path_shape, .body = &bytes_correction_shape, .answer = &tenant_plan_shape, .audit = "tenant.recount",
      .id = "correct_stored_bytes", .summary = "Correct what a workspace's reports are counted for",
      .description = "What `muster tenant recount` found when it compared stored reports with their count. It replaces the correction before, so that sending it twice changes nothing." },
    { 0 },
};
/* clang-format on */

const struct feature retention_feature = {
    .name = "retention",
    .about = "How long data is kept.",
    .routes = { retention_routes },
    .commands = { retention_commands, backup_commands },
    .open = retention_open,
    .start = retention_start,
    .tick = retention_tick,
    .close = retention_close,
};
