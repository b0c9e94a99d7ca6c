/* assemble.c - from settings to an engine and an API over it. */
#include "app/assemble.h"

#include "api/openapi.h"
#include "app/settings.h"
#include "service/engine.h"

enum { GROUP_MAX_EVENTS = 4000 };

int assemble(const struct settings *settings, const char *database, assemble_fatal_fn *on_fatal,
             void *ctx, struct assembly *ret, struct error *err)
{
    const struct engine_options options = {
        .database = database,
        .readers = (unsigned)settings->readers,
        .reads_max = (size_t)settings->queue_max_reads,
        .writer = { .events_max = (size_t)settings->queue_max_events,
                    .bytes_max = (size_t)settings->queue_max_bytes,
                    .group_max = GROUP_MAX_EVENTS,
                    .wait_max_ms = (unsigned)settings->queue_max_wait_ms },
        .on_fatal = on_fatal,
        .ctx = ctx,
    };

    *ret = (struct assembly){
        .api.limits = { .batch_max_events = (size_t)settings->batch_max_events,
                        .batch_max_bytes = (size_t)settings->batch_max_bytes,
                        .body_max_bytes = (size_t)settings->body_max_bytes,
                        .business_max_bytes = (size_t)settings->business_max_bytes },
    };
    if (engine_new(&options, &ret->api.engine, err) != 0)
        return -1;
    buf_init(&ret->openapi, MIB(16));
    openapi_write(&ret->openapi);
    ret->api.openapi = buf_str(&ret->openapi);
    return 0;
}

void disassemble(struct assembly *a)
{
    engine_free(a->api.engine);
    buf_done(&a->openapi);
}
