/* notify.c - texts from one process to the others, by NOTIFY and LISTEN. */
#include <errno.h>
#include <poll.h>

#include "db/postgres/postgres.h"
#include "db/servers.h"

int db_postgres_notify(struct db *db, struct str text, struct error *err)
{
    static const struct db_query notify = { .postgres = "SELECT pg_notify('muster', $1)" };
    struct postgres *pg = (struct postgres *)db;
    const struct db_args args = DB_ARGS(db_text(text));

    if (pg->inside) /* with the next turn */
        return db_postgres_exec_later(db, &notify, args, NULL, NULL, err);
    return db_postgres_ready(pg, err) != 0 ? -1
                                           : db_postgres_exec(db, &notify, args, NULL, NULL, err);
}

/* Passes on what has come; what this connection sent itself is left out. */
static bool pass_on(struct postgres *pg, db_text_fn *on_text, void *ctx)
{
    PGnotify *text;
    bool any = false;

    while ((text = PQnotifies(pg->conn)) != NULL) {
        any = true;
        if (text->be_pid != PQbackendPID(pg->conn))
            on_text(ctx, str_of(text->extra));
        PQfreemem(text);
    }
    return any;
}

/* Listens in this session, *ret: from now on. */
static int listen_once(struct postgres *pg, bool *ret, struct error *err)
{
    if (db_postgres_ready(pg, err) != 0)
        return -1;
    *ret = pg->listens_in != pg->session;
    if (*ret && db_postgres_run(pg, "LISTEN muster", NULL, NULL, err) != 0)
        return -1;
    pg->listens_in = pg->session;
    return 0;
}

int db_postgres_listen(struct db *db, int ms, db_text_fn *on_text, void *ctx, struct error *err)
{
    struct postgres *pg = (struct postgres *)db;
    struct pollfd fd = { .events = POLLIN };
    bool fresh;
    int n;

    if (listen_once(pg, &fresh, err) != 0)
        return -1;
    if (pass_on(pg, on_text, ctx) || fresh)
        return fresh;
    fd.fd = PQsocket(pg->conn);
    n = poll(&fd, 1, ms);
    if (n == 0 || (n < 0 && errno == EINTR))
        return 0;
    if (n < 0 || PQconsumeInput(pg->conn) == 0)
        return db_postgres_fail(pg, NULL, err);
    (void)pass_on(pg, on_text, ctx);
    return 0;
}
