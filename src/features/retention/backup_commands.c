/* backup_commands.c - backup, restore and check.
 *
 * They read the embedded database with a connection of their own, beside a
 * server that may be running: a connection that is opened read-only neither
 * writes nor checkpoints. A copy is one unchanging view. While it is made the
 * server's log cannot begin anew; so it is given up when another server takes
 * the data directory over, which must empty the log before it listens.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/datadir.h"
#include "cli/files.h"
#include "db/db.h"
#include "db/migrate.h"
#include "features/access/shapes.h"
#include "features/access/tenants_store.h"
#include "features/audit/entries.h"
#include "features/audit/shapes.h"
#include "features/audit/store.h"
#include "features/retention/backup_store.h"
#include "shape/table.h"

enum { LOOK_US = 20000 }; /* between two looks at who holds the data directory */

/* The database of a data directory, open to be kept. */
struct kept {
    struct datadir datadir;
    struct db *db;
    int64_t holder;
    int64_t looked_us;
};

static bool same_holder(void *ctx)
{
    struct kept *k = ctx;
    int64_t now_us = clock_mono_us();

    if (now_us - k->looked_us < LOOK_US)
        return true;
    k->looked_us = now_us;
    return datadir_holder(&k->datadir) == k->holder;
}

static void keep_done(struct kept *k)
{
    db_close(k->db);
    datadir_done(&k->datadir);
}

/* With the lock when nobody has it, so that no server begins to write meanwhile; else beside the
 * one that has it. */
static int keep(struct kept *k, struct invocation *in, struct error *err)
{
    *k = (struct kept){ 0 };
    datadir_init(&k->datadir, in->settings.data, &in->arena);
    if (in->settings.database[0] != '\0')
        return db_open(in->settings.database, DB_MAINTENANCE, &k->db, err);
    if (datadir_ensure(&k->datadir, false, err) != 0 ||
        (datadir_lock(&k->datadir, err) != 0 && err->code != ERR_BUSY))
        return -1;
    k->holder = datadir_holder(&k->datadir);
    if (db_open(k->datadir.database, DB_MAINTENANCE, &k->db, err) != 0) {
        datadir_done(&k->datadir);
        return -1;
    }
    db_watch(k->db, same_holder, k);
    return 0;
}

static int refuse_postgres(const struct invocation *in, const char *tool, struct error *err)
{
    if (in->settings.database[0] == '\0')
        return 0;
    return err_set(err, ERR_FORBIDDEN, "PostgreSQL has tools of its own for that: please use %s",
                   tool);
}

static int refuse_existing(const char *path, const char *why, struct error *err)
{
    struct stat status;

    if (lstat(path, &status) != 0)
        return 0;
    return err_set(err, ERR_CONFLICT, "'%s' is there already; %s", path, why);
}

/* Is this file a database of ours, and sound? */
static int verify_file(struct invocation *in, const char *path, struct error *err)
{
    const char *url = arena_printf(&in->arena, "sqlite:%s", path).data;
    struct list problems = { 0 };
    struct db *db = NULL;
    int r;

    if (db_open(url, DB_MAINTENANCE, &db, err) != 0)
        return -1;
    r = store_check(db, &in->arena, &problems, err);
    db_close(db);
    if (r == 0 && problems.n > 0)
        r = err_set(err, ERR_IO, "%.*s", STR_ARG(*(const struct str *)problems.items));
    return r;
}

static int back_up(struct invocation *in, struct kept *k, const char *path, struct error *err)
{
    const char *draft;
    int r = -1;

    if (store_schema_check(k->db, err) != 0 || file_draft(path, &in->arena, &draft, err) != 0)
        return -1;
    if (store_copy(k->db, draft, err) != 0) {
        if (datadir_holder(&k->datadir) != k->holder)
            err_set(err, ERR_BUSY, "the server began anew meanwhile: please try again");
        goto out;
    }
    if (verify_file(in, draft, err) != 0) {
        err_wrap(err, "the copy is not sound");
        goto out;
    }
    r = file_publish(draft, path, err);
out:
    if (r != 0)
        file_discard(draft);
    return r;
}

/* What a command made, for programs. */
struct made_file {
    struct str file;
    int64_t bytes;
};

/* clang-format off */
#define OWNER struct made_file
SHAPE_BEGIN(made_file_shape)
    { STR(file), .flags = F_REQUIRED },
    { INT(bytes), .flags = F_REQUIRED },
STATIC_SHAPE_END(made_file_shape, "MadeFile");
#undef OWNER
/* clang-format on */

static int say_made(const struct invocation *in, const char *path, const char *sentence)
{
    struct made_file made = { .file = str_of(path) };
    struct stat status;
    struct buf text;

    if (!in->json) {
        (void)printf("%s\n", sentence);
        return EXIT_DONE;
    }
    if (stat(path, &status) == 0)
        made.bytes = status.st_size;
    buf_init(&text, KIB(64));
    shape_write_json(&made_file_shape, &made, &text);
    (void)printf("%.*s\n", STR_ARG(buf_str(&text)));
    buf_done(&text);
    return EXIT_DONE;
}

int run_backup(struct invocation *in)
{
    const char *path = in->names[0];
    struct error err = { 0 };
    struct kept k;
    int r;

    if (refuse_postgres(in, "pg_dump", &err) != 0 ||
        refuse_existing(path, "a backup never replaces a file", &err) != 0 ||
        keep(&k, in, &err) != 0)
        return command_fail(&err);
    r = back_up(in, &k, path, &err);
    keep_done(&k);
    if (r != 0)
        return command_fail(&err);
    return say_made(
        in, path,
        arena_printf(&in->arena,
                     "'%s' has everything but the vault's master key: keep a copy of that "
                     "file apart",
                     path)
            .data);
}

static int can_read(const char *path, struct error *err)
{
    if (access(path, R_OK) == 0)
        return 0;
    return err_set(err, ERR_NOT_FOUND, "cannot read '%s'", path);
}

/* Into a draft first: what is looked at is what will be used. */
static int put_back(struct invocation *in, const char *from, const char *database,
                    struct error *err)
{
    const char *draft;
    int r = -1;

    if (file_draft(database, &in->arena, &draft, err) != 0)
        return -1;
    if (file_copy(from, draft, err) != 0)
        goto out;
    if (verify_file(in, draft, err) != 0) {
        err_wrap(err, "'%s' is no sound backup", from);
        goto out;
    }
    r = file_publish(draft, database, err);
out:
    file_discard(draft);
    return r;
}

int run_restore(struct invocation *in)
{
    static const char *const advice = "restore into another data directory, or move it away first";
    const char *database, *log;
    struct datadir d;
    struct error err = { 0 };
    int r = -1;

    datadir_init(&d, in->settings.data, &in->arena);
    database = arena_printf(&in->arena, "%s/muster.db", d.path).data;
    log = arena_printf(&in->arena, "%s-wal", database).data; /* would be taken for the new one's */
    if (refuse_postgres(in, "pg_restore", &err) == 0 && can_read(in->names[0], &err) == 0 &&
        datadir_ensure(&d, true, &err) == 0 && datadir_lock(&d, &err) == 0 &&
        refuse_existing(database, advice, &err) == 0 && refuse_existing(log, advice, &err) == 0)
        r = put_back(in, in->names[0], database, &err);
    datadir_done(&d);
    if (r != 0)
        return command_fail(&err);
    return say_made(
        in, database,
        arena_printf(&in->arena,
                     "'%s' is restored from '%s'; put the vault's master key (master.key) "
                     "back too",
                     database, in->names[0])
            .data);
}

/* Adds a sentence when the chain is not as it was written. */
static int check_chain(struct invocation *in, struct db *db, const struct tenant_row *tenant,
                       struct buf *problems, struct error *err)
{
    struct str name = tenant == NULL
                          ? STR_LIT("the platform")
                          : arena_printf(&in->arena, "tenant '%.*s'", STR_ARG(tenant->slug));
    struct audit_verdict verdict;

    if (audit_verify(db, tenant == NULL ? AUDIT_PLATFORM : tenant->tenant_id, &verdict, err) != 0)
        return -1;
    if (!verdict.ok)
        buf_printf(problems, "audit log of %.*s: %.*s (entry %lld)\n", STR_ARG(name),
                   STR_ARG(verdict.problem), (long long)verdict.seq.value);
    return 0;
}

/* Fills `problems` with lines; -1 when it could not be found out. */
static int check_all(struct invocation *in, struct db *db, struct buf *problems, struct error *err)
{
    struct list found, tenants;

    if (store_check(db, &in->arena, &found, err) != 0)
        return -1;
    for (size_t i = 0; i < found.n; i++)
        buf_printf(problems, "%.*s\n", STR_ARG(((const struct str *)found.items)[i]));
    if (found.n > 0)
        return 0; /* what such a database says of its log is worth nothing */
    if (store_tenants(db, &in->arena, &tenants, err) != 0 ||
        check_chain(in, db, NULL, problems, err) != 0)
        return -1;
    for (size_t i = 0; i < tenants.n; i++)
        if (check_chain(in, db, &((const struct tenant_row *)tenants.items)[i], problems, err) != 0)
            return -1;
    return 0;
}

struct check_done {
    bool ok;
    struct list problems;
};

/* clang-format off */
#define OWNER struct check_done
SHAPE_BEGIN(check_done_shape)
    { BOOL(ok), .flags = F_REQUIRED },
    { LIST_STR(problems), .flags = F_REQUIRED },
STATIC_SHAPE_END(check_done_shape, "CheckDone");
#undef OWNER
/* clang-format on */

static void say_json(struct invocation *in, struct str lines)
{
    size_t n = 0, most = lines.len; /* no more lines than bytes */
    struct str *each = ARENA_ARRAY(&in->arena, struct str, most + 1);
    struct check_done done = { .ok = lines.len == 0 };
    struct buf text;

    while (lines.len > 0)
        each[n++] = str_split(&lines, '\n');
    done.problems = (struct list){ each, n };
    buf_init(&text, MIB(16));
    shape_write_json(&check_done_shape, &done, &text);
    (void)printf("%.*s\n", STR_ARG(buf_str(&text)));
    buf_done(&text);
}

int run_check(struct invocation *in)
{
    struct error err = { 0 };
    struct buf problems;
    struct kept k;
    struct str rest;
    int r;

    if (keep(&k, in, &err) != 0)
        return command_fail(&err);
    buf_init(&problems, SIZE_MAX);
    r = check_all(in, k.db, &problems, &err);
    keep_done(&k);
    if (r != 0) {
        buf_done(&problems);
        return command_fail(&err);
    }
    rest = buf_str(&problems);
    r = rest.len > 0 ? EXIT_FAILED : EXIT_DONE;
    if (in->json)
        say_json(in, rest);
    else if (r == EXIT_DONE)
        (void)printf("the database is sound, and the audit log as it was written\n");
    while (rest.len > 0)
        (void)fprintf(stderr, "muster: %.*s\n", STR_ARG(str_split(&rest, '\n')));
    buf_done(&problems);
    return r;
}
