/* part_read.c - asks whether the server of a read that failed hangs, and refuses others. */
#include "engine/part_read.h"

#include "base/clock.h"
#include "db/db.h"
#include "engine/wait.h"
#include "engine/writer.h"

enum {
    MOST_US = 5 * USEC_PER_SEC, /* what PostgreSQL and the driver let a read take, nearly */
    TRY_LEAST_US = 800000,      /* less could find a server hung that is only busy */
};

static bool is_parted(const struct part_read_job *read)
{
    return read->writer != NULL && read->tenant_id != 0 && db_is_distributed(read->db);
}

/* How long it may take to find out whether the server is back. 0: that is left to the next read,
 * which has more time. */
static int64_t time_to_try(const struct part_read_job *read)
{
    const int64_t left_us = read->until_us - clock_raw_us();

    if (read->until_us == 0 || left_us > PARTS_PROBE_US)
        return PARTS_PROBE_US;
    return left_us < TRY_LEAST_US ? 0 : left_us;
}

int part_read_begin(struct part_read_job *read, struct error *err)
{
    enum part_read may = READ_MAY;

    if (is_parted(read))
        may = writer_try_read(read->writer, read->tenant_id);
    if (may == READ_TRIES) {
        const int64_t tried = writer_part_of(read->writer, read->tenant_id);
        const int64_t max_us = time_to_try(read);
        const enum part_state state =
            max_us > 0 ? writer_probe(read->writer, read->db, read->tenant_id, max_us)
                       : PART_UNKNOWN;

        writer_note_read(read->writer, read->tenant_id, tried,
                         state == PART_SLOW ? PART_ANSWERS : state);
        /* Without a verdict it may not either: it could wait for the server while the next tries.
         */
        may = state == PART_HUNG || state == PART_UNKNOWN ? READ_MAY_NOT : READ_MAY;
        read->began_us = clock_raw_us();
    }
    return may == READ_MAY ? 0
                           : err_set(err, ERR_UNAVAILABLE, "the tenant's server does not answer");
}

/* Did it take nearly all of the time that it had? If it failed, it was not answered. With next to
 * no time it was not asked for. */
static bool took_long(const struct part_read_job *read)
{
    const int64_t left_us = read->until_us - read->began_us;
    const int64_t had_us = read->until_us == 0 || left_us > MOST_US ? MOST_US : left_us;

    return had_us >= WAIT_TRY_US && clock_raw_us() - read->began_us >= had_us / 5 * 4;
}

void part_read_end(const struct part_read_job *read, enum err_code code)
{
    if (!is_parted(read) || (code != ERR_UNAVAILABLE && code != ERR_BUSY) || !took_long(read) ||
        writer_tenant_hangs(read->writer, read->tenant_id))
        return;
    if (writer_probe(read->writer, read->db, read->tenant_id, PARTS_PROBE_US) == PART_HUNG)
        writer_note_read(read->writer, read->tenant_id, 0, PART_HUNG);
}
