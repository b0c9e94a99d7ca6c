/* heartbeats.c - what the writer does with a sign of life. */
#include "service/heartbeats.h"

static int apply(struct writer_job *job, struct db *db, struct error *err)
{
    struct heartbeat_request *request = CONTAINER_OF(job, struct heartbeat_request, job);

    return store_heartbeat_put(db, &request->beat, err);
}

static void done(struct writer_job *job, const struct error *err)
{
    struct heartbeat_request *request = CONTAINER_OF(job, struct heartbeat_request, job);

    request->done(request, err);
}

int heartbeats_submit(struct writer *writer, struct heartbeat_request *request, struct error *err)
{
    request->job = (struct writer_job){
        .apply = apply, .done = done, .events = 1, .bytes = request->beat.client_id.len
    };
    return writer_submit(writer, &request->job, err);
}
