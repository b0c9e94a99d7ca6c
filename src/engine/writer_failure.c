/* writer_failure.c - what the failure of a group says of the database, and who is told of it. */
#include "base/clock.h"
#include "db/db.h"
#include "engine/txn.h"
#include "engine/writer_state.h"

/* How long the server of this connection has to say which server has whom, or to answer a new one.
 */
enum { PARTS_S = 2 };

void writer_set_lost(struct writer_thread *t, bool lost)
{
    if (lost != t->lost)
        atomic_fetch_add(&t->writer->n_lost, lost ? 1U : -1U);
    t->lost = lost;
}

bool writer_is_general(const struct writer_thread *t, const struct job_list *group,
                       enum err_code code)
{
    return code == ERR_IO || code == ERR_FULL ||
           (code == ERR_UNAVAILABLE &&
            (!db_part_is_away(t->txn->db) || (group->first != NULL && group->first->part != 0)));
}

bool writer_find_parts(struct writer_thread *t, struct job_list *group)
{
    struct parts parts;
    bool moved = false;
    int64_t until_us;

    if (group->first == NULL || group->first->part == 0)
        return false;
    until_us = job_queue_patience(&t->writer->options.limits, group);
    if (until_us == 0 || until_us > clock_raw_us() + (int64_t)PARTS_S * USEC_PER_SEC)
        until_us = clock_raw_us() + (int64_t)PARTS_S * USEC_PER_SEC;
    db_set_patience(t->txn->db, until_us);
    if (parts_load(t->txn->db, &parts, NULL) == 0) {
        for (struct writer_job *job = group->first; job != NULL; job = job->next) {
            const int64_t part = parts_of(&parts, job->tenant_id);

            moved = moved || part != job->part;
            job->part = part;
        }
        writer_set_parts(t->writer, &parts);
    }
    parts_done(&parts);
    return moved;
}

/* Has one of several servers not answered? Which, and whether it hangs, is still to be asked. */
static bool is_silence(const struct writer_thread *t, enum err_code code)
{
    const struct db *db = t->txn->db;

    return code == ERR_UNAVAILABLE && db_is_distributed(db) && !db_part_is_away(db) &&
           db_is_silent(db);
}

/* Has the group it works on taken nearly as long as a stall? */
static bool is_old(const struct writer_thread *t)
{
    return clock_raw_us() - atomic_load_explicit(&t->group_us, memory_order_relaxed) >
           (int64_t)(WRITER_STALL_S - 1) * USEC_PER_SEC;
}

/* Remembers what keeps groups from being stored. */
static void note_failure(struct writer_thread *t, const struct job_list *group, enum err_code code)
{
    const bool away = code == ERR_UNAVAILABLE && db_part_is_away(t->txn->db);

    if (away && group->first != NULL)
        writer_note_part(t->writer, group->first->part, PART_AWAY);
    writer_set_lost(t, code == ERR_UNAVAILABLE && !away);
    if (t->lost && is_old(t))
        writer_note_overdue(t->writer);
}

/* Is it well, as far as a group with little time can tell? */
static bool answers(enum part_state state)
{
    return state == PART_SLOW || state == PART_STUCK;
}

/* To find out what was silent takes seconds: the callers know by then. A server that hangs is told
 * from a hung server of this connection's own, which then does not answer a new connection either,
 * and from one where the group waited for a lock or for its commit. */
static void fail_silent(struct writer_thread *t, struct job_list *group, const struct error *err)
{
    const int64_t tenant_id = group->first == NULL ? 0 : group->first->tenant_id;
    const bool old = is_old(t), hurried = t->hurries;
    enum part_state state;

    writer_finish(group, err);
    atomic_store_explicit(&t->group_us, 0, memory_order_relaxed); /* it holds no job meanwhile */
    state = writer_probe(t->writer, t->txn->db, tenant_id, PARTS_PROBE_US);
    if (state == PART_SLOW && t->commits)
        state = PART_STUCK;
    atomic_store_explicit(&t->group_us, clock_raw_us(), memory_order_relaxed);
    if (state != PART_UNKNOWN && !(hurried && answers(state)))
        writer_note_part(t->writer, writer_part_of(t->writer, tenant_id), state);
    writer_set_lost(t, state == PART_UNKNOWN);
    if (t->lost && old)
        writer_note_overdue(t->writer);
}

/* Its callers had little time left, which says nothing of the database: the connection is lost, but
 * another one says, when they know, whether the database answers. */
static void fail_hurried(struct writer_thread *t, struct job_list *group, const struct error *err)
{
    writer_finish(group, err);
    atomic_store_explicit(&t->group_us, 0, memory_order_relaxed); /* it holds no job meanwhile */
    db_set_patience(t->txn->db, clock_raw_us() + (int64_t)PARTS_S * USEC_PER_SEC);
    writer_set_lost(t, db_ping(t->txn->db, NULL) != 0);
    atomic_store_explicit(&t->group_us, clock_raw_us(), memory_order_relaxed);
}

void writer_fail_group(struct writer_thread *t, struct job_list *group, const struct error *err)
{
    if (is_silence(t, err->code)) {
        fail_silent(t, group, err);
        return;
    }
    if (t->hurries && err->code == ERR_UNAVAILABLE && !db_part_is_away(t->txn->db)) {
        fail_hurried(t, group, err);
        return;
    }
    if (t->asks)
        note_failure(t, group, err->code);
    writer_finish(group, err);
    if (err->code == ERR_IO)
        writer_become_fatal(t->writer, err);
}
