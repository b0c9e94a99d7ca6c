/* part_read.c - asks whether the server of a read that failed hangs, and refuses others. */
#include "engine/part_read.h"

#include "base/clock.h"
#include "db/db.h"
#include "engine/writer.h"

/* A read that took this long and failed was not answered: PostgreSQL and the driver end it a little
 * later. */
enum { LONG_US = 4 * USEC_PER_SEC };

static bool is_parted(const struct part_read_job *read)
{
    return read->writer != NULL && read->tenant_id != 0 && db_is_distributed(read->db);
}

int part_read_begin(struct part_read_job *read, struct error *err)
{
    enum part_read may = READ_MAY;

    if (is_parted(read))
        may = writer_try_read(read->writer, read->tenant_id);
    if (may == READ_TRIES) {
        const int64_t tried = writer_part_of(read->writer, read->tenant_id);
        const enum part_state state = writer_probe(read->writer, read->db, read->tenant_id);

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

void part_read_end(const struct part_read_job *read, enum err_code code)
{
    if (!is_parted(read) || (code != ERR_UNAVAILABLE && code != ERR_BUSY) ||
        clock_raw_us() - read->began_us < LONG_US ||
        writer_tenant_hangs(read->writer, read->tenant_id))
        return;
    if (writer_probe(read->writer, read->db, read->tenant_id) == PART_HUNG)
        writer_note_read(read->writer, read->tenant_id, 0, PART_HUNG);
}
