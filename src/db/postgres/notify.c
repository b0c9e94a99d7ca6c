/* notify.c - texts from one process to the others, by NOTIFY and LISTEN. */
#include <errno.h>
#include <poll.h>

#include "db/postgres/postgres.h"

int db_postgres_notify(struct db *db, struct str text, struct error *err)
{
    static const struct db_query notify = { .postgres = "SELECT pg_notify('muster', $1)" };
    const struct postgres *pg = (const struct postgres *)db;

    const struct db_args args = DB_ARGS(db_text(text));

    if (pg->conn != NULL && PQtransactionStatus(pg->conn) != PQTRANS_IDLE) /* with the next turn */
        return db_postgres_exec_later(db, &notify, args, NULL, NULL, err);
    return db_postgres_exec(db, &notify, args, NULL, NULL, err);
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

static int listen_once(struct postgres *pg, struct error *err)
{
    if (pg->conn != NULL && pg->listens_in == pg->session)
        return 0;
    if (db_postgres_run(pg, "LISTEN muster", NULL, NULL, err) != 0)
        return -1;
    pg->listens_in = pg->session;
    return 0;
}

int db_postgres_hear(struct db *db, int ms, db_text_fn *on_text, void *ctx, struct error *err)
{
    struct postgres *pg = (struct postgres *)db;
    struct pollfd fd = { .events = POLLIN };
    int n;

    if (db_postgres_check_origin(pg, err) != 0 || listen_once(pg, err) != 0)
        return -1;
    if (pass_on(pg, on_text, ctx))
        return 0;
    fd.fd = PQsocket(pg->conn);
    n = poll(&fd, 1, ms);
    if (n == 0 || (n < 0 && errno == EINTR))
        return 0;
    if (n < 0 || PQconsumeInput(pg->conn) == 0)
        return db_postgres_fail(pg, NULL, err);
    (void)pass_on(pg, on_text, ctx);
    return 0;
}

int db_postgres_socket(const struct db *db)
{
    const struct postgres *pg = (const struct postgres *)db;

    return pg->conn == NULL ? -1 : PQsocket(pg->conn);
}
