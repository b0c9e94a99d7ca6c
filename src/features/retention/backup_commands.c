/* backup_commands.c - backup, restore, check and recount.
 *
 * They read the database with a connection of their own. A copy
 * is one snapshot. The server's write-ahead log cannot restart while a copy is
 * being made; so the copy is abandoned when another server takes over the data
 * directory, which must empty the log before it listens.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/files.h"
#include "cli/request.h"
#include "db/db.h"
#include "db/embedded.h"
#include "db/migrate.h"
#include "features/access/shapes.h"
#include "features/access/tenants.h"
#include "features/audit/shapes.h"
#include "features/retention/backup_store.h"
#include "features/retention/retention.h"
#include "shape/shape.h"

enum { CHECK_US = 20000 }; /* between two checks of who holds the data directory */

/* The database of a data directory, open for maintenance: read-only, without a time limit, and
 * without checkpoints, while a server may be running. */
struct maintenance {
    struct datadir datadir;
    struct db *db;
    int64_t holder; /* process that has the data directory */
    int64_t checked_us;
};

static bool same_holder(void *ctx)
{
    struct maintenance *k = ctx;
    int64_t now_us = clock_mono_us();

    if (now_us - k->checked_us < CHECK_US)
        return true;
    k->checked_us = now_us;
    return datadir_holder(&k->datadir) == k->holder;
}

static void maintenance_end(struct maintenance *k)
{
    db_close(k->db);
    datadir_done(&k->datadir);
}

/* Takes the lock of the data directory if it is free, so that no server starts to write meanwhile;
 * otherwise reads beside the server that holds it. */
static int maintenance_begin(struct maintenance *k, struct invocation *in, struct error *err)
{
    *k = (struct maintenance){ 0 };
    datadir_init(&k->datadir, in->settings.data, &in->arena);
    if (in->settings.database[0] != '\0')
        return db_open(in->settings.database, DB_MAINTENANCE, &k->db, err);
    if (datadir_ensure(&k->datadir, false, err) != 0 ||
        datadir_check_database(&k->datadir, err) != 0 ||
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
    return err_set(err, ERR_FORBIDDEN, "not for PostgreSQL: use %s", tool);
}

static int refuse_existing(const char *path, const char *why, struct error *err)
{
    struct stat status;

    if (lstat(path, &status) != 0)
        return 0;
    return err_set(err, ERR_CONFLICT, "'%s' exists; %s", path, why);
}

/* Checks that the file is an intact database of ours. */
static int verify_file(struct invocation *in, const char *path, struct error *err)
{
    const char *url = arena_printf(&in->arena, "sqlite:%s", path).data;
    struct list problems = { 0 };
    struct db *db = NULL;
    int r;

    if (db_open(url, DB_MAINTENANCE, &db, err) != 0)
        return -1;
    r = backup_check(db, &in->arena, &problems, err);
    db_close(db);
    if (r == 0 && problems.n > 0)
        r = err_set(err, ERR_IO, "%.*s", STR_ARG(*(const struct str *)problems.items));
    return r;
}

static int back_up(struct invocation *in, struct maintenance *k, const char *path,
                   struct error *err)
{
    const char *draft;
    int r = -1;

    if (store_schema_check(k->db, err) != 0 || file_draft(path, &in->arena, &draft, err) != 0)
        return -1;
    if (backup_copy(k->db, draft, err) != 0) {
        if (datadir_holder(&k->datadir) != k->holder)
            err_set(err, ERR_BUSY, "the server restarted meanwhile; try again");
        goto out;
    }
    if (verify_file(in, draft, err) != 0) {
        err_wrap(err, "the copy is damaged");
        goto out;
    }
    r = file_publish(draft, path, err);
out:
    if (r != 0)
        file_discard(draft);
    return r;
}

/* Prints the sentence, or for programs the file and its size. */
static int say_written(const struct invocation *in, const char *path, struct str sentence)
{
    struct stat status;
    BUF_SCOPED(text, KIB(64));

    if (in->json) {
        buf_add_c(&text, "{\"file\":");
        buf_add_json(&text, str_of(path));
        buf_printf(&text, ",\"bytes\":%lld}",
                   stat(path, &status) == 0 ? (long long)status.st_size : 0);
    } else {
        buf_add(&text, sentence);
    }
    (void)printf("%.*s\n", STR_ARG(text));
    return EXIT_DONE;
}

static int backup_run(struct invocation *in)
{
    const char *path = command_value(in, "file");
    struct error err = { 0 };
    struct maintenance k;
    int r;

    if (refuse_postgres(in, "pg_dump", &err) != 0 ||
        refuse_existing(path, "a backup never replaces a file", &err) != 0 ||
        maintenance_begin(&k, in, &err) != 0)
        return command_fail(&err);
    r = back_up(in, &k, path, &err);
    maintenance_end(&k);
    if (r != 0)
        return command_fail(&err);
    return say_written(
        in, path,
        arena_printf(&in->arena,
                     "backup written to '%s'; it does not contain the vault's master key: back up "
                     "that file separately",
                     path));
}

/* Into a draft first: what is checked is what will be used. */
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
        err_wrap(err, "'%s' is not an intact backup", from);
        goto out;
    }
    r = file_publish(draft, database, err);
out:
    file_discard(draft);
    return r;
}

static int restore_run(struct invocation *in)
{
    static const char *const advice = "restore into another data directory, or move it away first";
    const char *from = command_value(in, "file"), *database, *log;
    struct datadir d;
    struct error err = { 0 };
    int r = -1;

    datadir_init(&d, in->settings.data, &in->arena);
    database = arena_printf(&in->arena, "%s/muster.db", d.path).data;
    log = arena_printf(&in->arena, "%s-wal", database).data; /* would be read as the new one's */
    if (refuse_postgres(in, "pg_restore", &err) == 0 &&
        (access(from, R_OK) == 0 ||
         err_set(&err, ERR_NOT_FOUND, "cannot read '%s': %s", from, strerror(errno)) == 0) &&
        datadir_ensure(&d, true, &err) == 0 && datadir_lock(&d, &err) == 0 &&
        refuse_existing(database, advice, &err) == 0 && refuse_existing(log, advice, &err) == 0)
        r = put_back(in, from, database, &err);
    datadir_done(&d);
    if (r != 0)
        return command_fail(&err);
    return say_written(
        in, database,
        arena_printf(&in->arena,
                     "'%s' restored from '%s'; restore the vault's master key (master.key) too",
                     database, from));
}

/* Adds a sentence when the chain has been altered. */
static int check_chain(struct invocation *in, struct db *db, const struct tenant_row *tenant,
                       struct buf *problems, struct error *err)
{
    struct str name = tenant == NULL
                          ? STR_LIT("the platform")
                          : arena_printf(&in->arena, "tenant '%.*s'", STR_ARG(tenant->slug));
    const struct audit_proof hashes_only = { 0 }; /* a backup need not have the master key */
    struct audit_verdict verdict;

    if (audit_verify(db, tenant == NULL ? AUDIT_PLATFORM : tenant->tenant_id, &hashes_only,
                     &verdict, err) != 0)
        return -1;
    if (!verdict.ok)
        buf_printf(problems, "audit log of %.*s: %.*s (entry %lld)\n", STR_ARG(name),
                   STR_ARG(verdict.problem), (long long)verdict.seq.value);
    return 0;
}

static void add_lines(const struct list *found, struct buf *problems)
{
    for (size_t i = 0; i < found->n; i++)
        buf_printf(problems, "%.*s\n", STR_ARG(((const struct str *)found->items)[i]));
}

/* Fills `problems` with lines; -1 when the check itself failed. */
static int check_all(struct invocation *in, struct db *db, struct buf *problems, struct error *err)
{
    struct list found, tenants;

    if (backup_check(db, &in->arena, &found, err) != 0)
        return -1;
    add_lines(&found, problems);
    if (found.n > 0)
        return 0; /* rows and log of a damaged database prove nothing */
    if (backup_check_sums(db, &in->arena, &found, err) != 0)
        return -1;
    add_lines(&found, problems);
    if (tenants_load(db, all_changes, &in->arena, &tenants, err) != 0 ||
        check_chain(in, db, NULL, problems, err) != 0)
        return -1;
    for (size_t i = 0; i < tenants.n; i++)
        if (check_chain(in, db, &((const struct tenant_row *)tenants.items)[i], problems, err) != 0)
            return -1;
    return 0;
}

static void say_json(struct str lines)
{
    BUF_SCOPED(text, SIZE_MAX);

    buf_printf(&text, "{\"ok\":%s,\"problems\":[", lines.len == 0 ? "true" : "false");
    for (bool first = true; lines.len > 0; first = false) {
        buf_add_c(&text, first ? "" : ",");
        buf_add_json(&text, str_split(&lines, '\n'));
    }
    (void)printf("%.*s]}\n", STR_ARG(text));
}

static int check_run(struct invocation *in)
{
    BUF_SCOPED(problems, SIZE_MAX);
    struct error err = { 0 };
    struct maintenance k;
    struct str rest;
    int r;

    if (maintenance_begin(&k, in, &err) != 0)
        return command_fail(&err);
    r = check_all(in, k.db, &problems, &err);
    maintenance_end(&k);
    if (r != 0)
        return command_fail(&err);
    rest = buf_str(&problems);
    r = rest.len > 0 ? EXIT_FAILED : EXIT_DONE;
    if (in->json)
        say_json(rest);
    else if (r == EXIT_DONE)
        (void)printf(
            "the database is intact, every report matches its checksum, and the audit log has not "
            "been altered\n");
    while (rest.len > 0) {
        struct str line = str_split(&rest, '\n');

        (void)fprintf(stderr, "muster: %.*s\n", STR_ARG(line));
    }
    return r;
}

/* By how much the count of a tenant's bytes is wrong. What is reported meanwhile changes both
 * alike. */
static int recount(struct invocation *in, struct db *db, struct bytes_correction *ret,
                   struct error *err)
{
    struct tenant_row tenant;

    if (tenant_find(db, str_of(command_value(in, "slug")), &in->arena, &tenant, err) != 0)
        return -1;
    return recount_tenant(db, tenant.tenant_id, &ret->correction, err);
}

static int recount_bind(struct invocation *in, struct str *ret, struct error *err)
{
    struct bytes_correction found = { 0 };
    struct maintenance k;
    int r;

    request_hang_up(in); /* the data directory has one user at a time */
    if (maintenance_begin(&k, in, err) != 0)
        return -1;
    r = recount(in, k.db, &found, err);
    maintenance_end(&k);
    if (r == 0)
        *ret = request_body(in, &bytes_correction_shape, &found);
    return r;
}

/* clang-format off */
const struct command backup_commands[] = {
    { "backup", NULL, .local_only = true, .args = { { "file", OPTION_FILE, "FILE", .help = "new file to write; it must not exist" } },
      .help = "back up the embedded database into a file, whether or not a server is running",
      .examples = "muster backup /var/backups/muster-monday.db",
      .run = backup_run },
    { "restore", NULL, .local_only = true, .args = { { "file", OPTION_FILE, "FILE", .help = "file that `muster backup` has written" } },
      .help = "restore a backup into a data directory that has no database",
      .examples = "muster restore /var/backups/muster-monday.db --data ./data-new",
      .run = restore_run },
    { "check", NULL, .local_only = true,
      .help = "check database integrity, the checksums of what agents reported, and the audit log",
      .examples = "muster check --data /var/lib/muster",
      .run = check_run },
    { "tenant", "recount", .local_only = true, .args = { { "slug", OPTION_TENANT, "SLUG", .help = "slug of the tenant" } },
      .help = "count again what a tenant's stored reports take, whether or not a server is running",
      .examples = "muster tenant recount acme",
      .method = METHOD_PUT, .path = "/api/v1/tenants/{slug}/bytes-correction", .bind = recount_bind,
      .answer = &tenant_plan_shape, .line = "the reports of tenant '{slug}' take {stored_bytes} bytes" },
    { 0 },
};
/* clang-format on */
