/* due_job.c - submits a job when something is due, and never two at once. */
#include "features/alerts/due_job.h"

#include "base/clock.h"

enum { PERIOD_S = 5 };

bool due_job_begin(struct due_job *due, int64_t wall_us, int64_t raw_us)
{
    if (raw_us - due->checked_us < (int64_t)PERIOD_S * USEC_PER_SEC || !busy_begin(&due->busy))
        return false;
    due->checked_us = raw_us;
    due->now_us = wall_us;
    return true;
}

/* After a failure the next look finds what is due again. */
static void due_job_done(struct writer_job *job, const struct error *err)
{
    (void)err;
    busy_end(&CONTAINER_OF(job, struct due_job, job)->busy);
}

int due_job_end(struct due_job *due, struct writer *writer, due_apply_fn *apply, int r, bool any,
                struct error *err)
{
    if (r == 0 && any) {
        due->job = (struct writer_job){
            .apply = apply, .done = due_job_done, .events = 1, .unbounded = true
        };
        r = writer_submit(writer, &due->job, err);
        if (r == 0)
            return 0;
    }
    busy_end(&due->busy);
    return r;
}
