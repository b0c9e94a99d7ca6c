/* signs_store.c - SQL of signs of life. */
#include "features/agents/signs_store.h"

#include <stdlib.h>

#include "base/buf.h"
#include "db/db.h"
#include "features/agents/agents.h"

enum { PROCESSES_MAX = 10000, FORGOTTEN = 1000 }; /* of a tenant, and how many make room */

/* clang-format off */
/* $1 is a JSON array of rows, so that one statement stores all agents. PostgreSQL skips rows that
 * another process has locked: that process writes an equally recent time. */
static const struct db_query put_sightings = {
    .sqlite = "UPDATE agent_signs SET last_seen_at = CASE WHEN last_seen_at"
              " BETWEEN json_extract(j.value, '$[2]') AND $2"
              " THEN last_seen_at ELSE json_extract(j.value, '$[2]') END FROM json_each($1) j"
              " WHERE tenant_id = json_extract(j.value, '$[0]')"
              " AND agent_id = json_extract(j.value, '$[1]') RETURNING tenant_id, agent_id",
    .postgres = "UPDATE agent_signs s SET last_seen_at = CASE WHEN s.last_seen_at"
                " BETWEEN x.at AND CAST($2 AS BIGINT) THEN s.last_seen_at ELSE x.at END"
                " FROM (SELECT l.tenant_id, l.agent_id, u.at FROM (SELECT"
                " CAST(j ->> 0 AS BIGINT) AS tenant_id, CAST(j ->> 1 AS BIGINT) AS agent_id,"
                " CAST(j ->> 2 AS BIGINT) AS at FROM json_array_elements(CAST($1 AS json)) AS j) u"
                " JOIN agent_signs l ON l.tenant_id = u.tenant_id AND l.agent_id = u.agent_id"
                " FOR UPDATE OF l SKIP LOCKED) x"
                " WHERE s.tenant_id = x.tenant_id AND s.agent_id = x.agent_id"
                " RETURNING s.tenant_id, s.agent_id",
    .citus = "UPDATE agent_signs s SET last_seen_at = CASE WHEN s.last_seen_at"
             " BETWEEN x.at AND CAST($2 AS BIGINT) THEN s.last_seen_at ELSE x.at END"
             " FROM (SELECT l.agent_id, u.at FROM (SELECT CAST(j ->> 1 AS BIGINT) AS agent_id,"
             " CAST(j ->> 2 AS BIGINT) AS at FROM json_array_elements(CAST($1 AS json)) AS j) u"
             " JOIN agent_signs l ON l.tenant_id = $3 AND l.agent_id = u.agent_id"
             " FOR UPDATE OF l SKIP LOCKED) x WHERE s.tenant_id = $3 AND s.agent_id = x.agent_id"
             " RETURNING s.tenant_id, s.agent_id",
};
/* The same for one agent: first contacts and ends of silences come one by one. */
static const struct db_query put_sighting = {
    .sqlite = "UPDATE agent_signs SET last_seen_at = CASE WHEN last_seen_at BETWEEN $3 AND $4"
              " THEN last_seen_at ELSE $3 END WHERE tenant_id = $1 AND agent_id = $2"
              " RETURNING tenant_id, agent_id",
    .postgres = "UPDATE agent_signs SET last_seen_at = CASE WHEN last_seen_at BETWEEN $3 AND $4"
                " THEN last_seen_at ELSE $3 END WHERE tenant_id = $1 AND agent_id = (SELECT agent_id"
                " FROM agent_signs WHERE tenant_id = $1 AND agent_id = $2 FOR UPDATE SKIP LOCKED)"
                " RETURNING tenant_id, agent_id",
};
DB_QUERY(update_process,
    "UPDATE heartbeats SET last_at = CASE WHEN last_at < $3 THEN $3 ELSE last_at END"
    " WHERE tenant_id = $1 AND client_id = $2");
DB_QUERY(add_process,
    "INSERT INTO heartbeats (tenant_id, client_id, first_at, last_at)"
    " VALUES ($1, $2, $3, $3) ON CONFLICT (tenant_id, client_id) DO UPDATE"
    " SET last_at = excluded.last_at WHERE excluded.last_at > heartbeats.last_at");
DB_QUERY(count_processes, "SELECT COUNT(*) FROM heartbeats WHERE tenant_id = $1");
DB_QUERY(forget_oldest,
    "DELETE FROM heartbeats WHERE tenant_id = $1 AND client_id IN (SELECT h.client_id"
    " FROM heartbeats h WHERE h.tenant_id = $1 ORDER BY h.last_at, h.client_id LIMIT $2)");
/* clang-format on */

struct sorted_sightings {
    struct sighting *items;
    size_t n;
};

static int by_agent(const void *a, const void *b)
{
    const struct sighting *x = a, *y = b;

    if (x->tenant_id != y->tenant_id)
        return x->tenant_id < y->tenant_id ? -1 : 1;
    if (x->agent_id != y->agent_id)
        return x->agent_id < y->agent_id ? -1 : 1;
    return 0;
}

static bool mark_stored(void *ctx, const struct db_row *row)
{
    const struct sorted_sightings *sightings = ctx;
    const struct sighting wanted = { .tenant_id = db_get_int(row, 0),
                                     .agent_id = db_get_int(row, 1) };
    struct sighting *sighting =
        bsearch(&wanted, sightings->items, sightings->n, sizeof(wanted), by_agent);

    if (sighting != NULL)
        sighting->stored = true;
    return true;
}

/* They are sorted. Where tenants are distributed, all are of one tenant. */
static int put_sorted(struct db *db, struct sighting *sightings, size_t n, int64_t now,
                      struct error *err)
{
    struct sorted_sightings sorted = { sightings, n };
    BUF_SCOPED(rows, SIZE_MAX); /* bounded by n */

    sightings[0].stored = false;
    if (n == 1)
        return db_exec(db, &put_sighting,
                       DB_ARGS(db_int(sightings->tenant_id), db_int(sightings->agent_id),
                               db_int(sightings->at), db_int(now + SIGHTING_AHEAD_US)),
                       mark_stored, &sorted, err);
    for (size_t i = 0; i < n; i++) {
        sightings[i].stored = false;
        buf_printf(&rows, "%c[%lld,%lld,%lld]", i == 0 ? '[' : ',',
                   (long long)sightings[i].tenant_id, (long long)sightings[i].agent_id,
                   (long long)sightings[i].at);
    }
    buf_add_char(&rows, ']');
    return db_exec(db, &put_sightings,
                   DB_ARGS(db_text(buf_str(&rows)), db_int(now + SIGHTING_AHEAD_US),
                           db_int(sightings->tenant_id)),
                   mark_stored, &sorted, err);
}

int sightings_put(struct db *db, struct sighting *sightings, size_t n, int64_t now,
                  struct error *err)
{
    if (n > 1)
        qsort(sightings, n, sizeof(*sightings), by_agent);
    for (size_t begin = 0, end; begin < n; begin = end) {
        end = begin + 1;
        while (end < n &&
               (!db_is_distributed(db) || sightings[end].tenant_id == sightings[begin].tenant_id))
            end++;
        if (put_sorted(db, sightings + begin, end - begin, now, err) != 0)
            return -1;
    }
    return 0;
}

/* The processes with the oldest heartbeats make room, many at once: counting is rare. */
static int make_room(struct db *db, int64_t tenant_id, struct error *err)
{
    int64_t n = 0;

    if (db_exec(db, &count_processes, DB_ARGS(db_int(tenant_id)), db_read_int, &n, err) != 0)
        return -1;
    if (n < PROCESSES_MAX)
        return 0;
    return db_run(db, &forget_oldest, DB_ARGS(db_int(tenant_id), db_int(FORGOTTEN)), err);
}

int heartbeat_put(struct db *db, const struct heartbeat *beat, struct error *err)
{
    const struct db_args process =
        DB_ARGS(db_int(beat->tenant_id), db_text(beat->client_id), db_int(beat->received_at));

    if (db_run(db, &update_process, process, err) != 0)
        return -1;
    if (db_changes(db) > 0)
        return 0;
    return make_room(db, beat->tenant_id, err) == 0 ? db_run(db, &add_process, process, err) : -1;
}
