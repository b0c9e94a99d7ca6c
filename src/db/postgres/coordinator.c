/* coordinator.c - a connection to the coordinator of Citus, made by what one of its workers knows.
 */
#include <stdio.h>

#include "db/postgres/postgres.h"

enum { HOST_MAX = 256, PORT_MAX = 8 };

struct coordinator {
    char host[HOST_MAX], port[PORT_MAX];
};

static bool read_coordinator(void *ctx, const struct db_row *row)
{
    const struct str host = db_get_text(row, 0), port = db_get_text(row, 1);
    struct coordinator *c = ctx;

    (void)snprintf(c->host, sizeof(c->host), "%.*s", STR_ARG(host));
    (void)snprintf(c->port, sizeof(c->port), "%.*s", STR_ARG(port));
    return false;
}

int db_postgres_open_coordinator(struct db *db, enum db_mode mode, struct db **ret,
                                 struct error *err)
{
    struct postgres *pg = (struct postgres *)db;
    struct coordinator c = { 0 };
    struct db *opened;

    if (db_postgres_run(pg,
                        "SELECT nodename, CAST(nodeport AS TEXT) FROM pg_catalog.pg_dist_node"
                        " WHERE groupid = 0 AND noderole = 'primary'",
                        read_coordinator, &c, err) != 0)
        return -1;
    if (c.host[0] == '\0')
        return err_set(err, ERR_UNAVAILABLE, "this worker does not know its coordinator");
    if (db_postgres_open_at(&(struct address){ pg->url, c.host, c.port }, mode, &opened, err) != 0)
        return -1;
    /* The address is one between servers: from here, "localhost" would be another. */
    if (opened->distributed && !opened->worker) {
        *ret = opened;
        return 0;
    }
    db_close(opened);
    return err_set(err, ERR_UNAVAILABLE, "%s:%s is not the coordinator from here", c.host, c.port);
}
