/* assemble.c - from settings to an engine and an API over it. */
#include "app/assemble.h"

#include "api/openapi.h"
#include "app/settings.h"
#include "base/clock.h"
#include "service/engine.h"

enum { GROUP_MAX_EVENTS = 4000 };

/* In the data directory unless a setting says otherwise. */
static const char *key_file(const struct settings *settings, struct arena *arena)
{
    if (settings->master_key_file[0] != '\0')
        return settings->master_key_file;
    return arena_printf(arena, "%s/master.key", settings->data).data;
}

int assemble(const struct assembly_options *options, struct assembly *ret, struct error *err)
{
    const struct settings *settings = options->settings;
    struct arena arena;
    struct engine_options engine = {
        .database = options->database,
        .serves = options->serves,
        .readers = (unsigned)settings->readers,
        .reads_max = (size_t)settings->queue_max_reads,
        .writer = { .events_max = (size_t)settings->queue_max_events,
                    .bytes_max = (size_t)settings->queue_max_bytes,
                    .group_max = GROUP_MAX_EVENTS,
                    .wait_max_ms = (unsigned)settings->queue_max_wait_ms },
        .on_fatal = options->on_fatal,
        .ctx = options->ctx,
    };
    int r;

    *ret = (struct assembly){
        .api.limits = { .batch_max_events = (size_t)settings->batch_max_events,
                        .batch_max_bytes = (size_t)settings->batch_max_bytes,
                        .body_max_bytes = (size_t)settings->body_max_bytes,
                        .business_max_bytes = (size_t)settings->business_max_bytes },
    };
    ret->api.version = MUSTER_VERSION;
    ret->api.metrics_token = settings->metrics_token;
    ret->api.started_at = clock_wall_us();
    arena_init(&arena);
    engine.key_file = key_file(settings, &arena);
    r = engine_new(&engine, &ret->api.engine, err);
    arena_done(&arena);
    if (r != 0)
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
