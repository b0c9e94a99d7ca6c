/* commands.c - the audit log on the command line; and to go on without a lost master key, which is
 * entered in it, while no server runs. */
#include "features/audit/shapes.h"

#include <stdio.h>

#include "cli/files.h"
#include "cli/request.h"
#include "db/db.h"
#include "db/migrate.h"
#include "features/access/shapes.h"
#include "features/audit/audit.h"
#include "features/vault/vault.h"

enum { HEADS_MAX = 1 << 20 }; /* bytes of a file of heads */

/* What is done with one chain, the tenant's or the platform's (NULL), and added to the output; -1
 * when it failed. `head` is the kept one of the chain, or STR_NULL. */
typedef int chain_fn(struct invocation *in, const char *tenant, struct str head, struct buf *out,
                     struct error *err);

static struct str chain_path(struct invocation *in, const char *tenant, const char *rest)
{
    if (tenant == NULL)
        return arena_printf(&in->arena, "/api/v1/platform/audit/%s", rest);
    return arena_printf(&in->arena, "/api/v1/tenants/%s/audit/%s", tenant, rest);
}

/* One chain's answer in the JSON output. */
static void add_json(struct buf *out, const char *tenant, const char *field, struct str body)
{
    const char *quote = tenant == NULL ? "" : "\"";

    buf_printf(out, "%s{\"tenant\":%s%s%s,\"%s\":%.*s}", out->len > 0 ? "," : "", quote,
               tenant == NULL ? "null" : tenant, quote, field, STR_ARG(body));
}

static int verify_chain(struct invocation *in, const char *tenant, struct str head, struct buf *out,
                        struct error *err)
{
    const char *name =
        tenant == NULL ? "the platform" : arena_printf(&in->arena, "tenant '%s'", tenant).data;
    struct client_request request = { .method = METHOD_GET,
                                      .path = chain_path(in, tenant, "verify") };
    struct audit_verdict verdict;
    struct client_reply reply;

    if (!str_is_null(head))
        request.path =
            arena_printf(&in->arena, "%.*s?head=%.*s", STR_ARG(request.path), STR_ARG(head));
    if (request_send(in, &request, &reply, err) != 0 ||
        request_read(&reply, &audit_verdict_shape, &in->arena, &verdict, err) != 0)
        return -1;
    if (in->json)
        add_json(out, tenant, "verdict", reply.body);
    if (!verdict.ok)
        return err_set(err, ERR_CONFLICT, "audit log of %s: %.*s (entry %lld)", name,
                       STR_ARG(verdict.problem), (long long)verdict.seq.value);
    if (in->json)
        return 0;
    buf_printf(out, "%s: %lld entries, all intact", name, (long long)verdict.entries);
    if (!verdict.signed_to.has)
        buf_add_c(out, "; the signature was not checked: no master key here");
    else if (verdict.unsigned_entries > verdict.reset_seq.value)
        buf_printf(out, "; %lld were written without a signature",
                   (long long)(verdict.unsigned_entries - verdict.reset_seq.value));
    if (verdict.reset_seq.has)
        buf_printf(out, "; the vault was reset at entry %lld: no signature proves what is before",
                   (long long)verdict.reset_seq.value);
    buf_add_char(out, '\n');
    return 0;
}

static int print_head(struct invocation *in, const char *tenant, struct str head, struct buf *out,
                      struct error *err)
{
    const struct client_request request = { .method = METHOD_GET,
                                            .path = chain_path(in, tenant, "head") };
    struct audit_head_answer answer;
    struct client_reply reply;

    (void)head;
    if (request_send(in, &request, &reply, err) != 0 ||
        request_read(&reply, &audit_head_shape, &in->arena, &answer, err) != 0)
        return -1;
    if (in->json)
        add_json(out, tenant, "head", reply.body);
    else
        buf_printf(out, "%s %.*s\n", tenant == NULL ? "platform" : tenant, STR_ARG(answer.head));
    return 0;
}

/* A failure of one chain does not keep the others from being looked at. */
static int visit(struct invocation *in, chain_fn *fn, const char *tenant, struct str head,
                 struct buf *out)
{
    struct error err = { 0 };

    return fn(in, tenant, head, out, &err) == 0 ? EXIT_DONE : command_fail(&err);
}

/* The tenant that was named, or the platform and every tenant. */
static int visit_all(struct invocation *in, chain_fn *fn, struct buf *out)
{
    const char *only = command_value(in, "tenant");
    const char *path = "/api/v1/tenants";
    struct listing answer;
    struct error err = { 0 };
    int failed;

    if (only != NULL)
        return visit(in, fn, only, STR_NULL, out);
    failed = visit(in, fn, NULL, STR_NULL, out);
    do {
        const struct tenant *tenants;

        if (request_get(in, path, &tenant_list_shape, &answer, &err) != 0)
            return command_fail(&err);
        tenants = answer.list.items;
        for (size_t i = 0; i < answer.list.n; i++)
            failed |= visit(in, fn, arena_cstr(&in->arena, tenants[i].slug), STR_NULL, out);
        path = arena_printf(&in->arena, "/api/v1/tenants?cursor=%.*s", STR_ARG(answer.next)).data;
    } while (!str_is_null(answer.next));
    return failed;
}

/* A line as `audit head` prints it: the chain's name and its head. */
static int verify_line(struct invocation *in, struct str line, struct buf *out)
{
    struct str head = str_trim(line), name = str_split(&head, ' ');
    struct error err = { 0 };
    struct kept_head kept;

    if (str_is_null(head) || !audit_head_read(head, &kept)) {
        (void)err_set(&err, ERR_INVALID, "'%.*s' is not a line of `muster audit head`",
                      STR_ARG(line));
        return command_fail(&err);
    }
    return visit(in, verify_chain, kept.tenant_id == 0 ? NULL : arena_cstr(&in->arena, name), head,
                 out);
}

static int verify_kept(struct invocation *in, const char *path, struct buf *out)
{
    struct error err = { 0 };
    int failed = EXIT_DONE;
    struct str rest;

    if (request_file(in, path, HEADS_MAX, &rest, &err) != 0)
        return command_fail(&err);
    while (!str_is_null(rest)) {
        struct str line = str_split(&rest, '\n');

        if (str_trim(line).len > 0)
            failed |= verify_line(in, line, out);
    }
    return failed;
}

static int audit_verify_run(struct invocation *in)
{
    const char *kept = command_value(in, "head");
    BUF_SCOPED(out, SIZE_MAX);
    int failed;

    failed = kept != NULL ? verify_kept(in, kept, &out) : visit_all(in, verify_chain, &out);
    (void)printf(in->json ? "{\"chains\":[%.*s]}\n" : "%.*s", STR_ARG(out));
    return failed;
}

static int audit_head_run(struct invocation *in)
{
    BUF_SCOPED(out, SIZE_MAX);
    int failed;

    failed = visit_all(in, print_head, &out);
    (void)printf(in->json ? "{\"chains\":[%.*s]}\n" : "%.*s", STR_ARG(out));
    return failed;
}

static int reset(struct invocation *in, struct db *db, struct vault_losses *lost, struct error *err)
{
    struct vault *vault = vault_for(&in->settings);
    int r = -1;

    if (store_schema_check(db, err) != 0 || store_migrate(db, err) != 0 || db_begin(db, err) != 0)
        goto out;
    if (vault_may_reset(vault, db, command_value(in, "confirm") != NULL, lost, err) == 0 &&
        vault_reset(db, lost, audit_note_reset, err) == 0)
        r = db_commit(db, err);
    if (r != 0)
        db_rollback(db);
out:
    vault_free(vault);
    return r;
}

static int open_database(struct invocation *in, struct datadir *d, struct db **ret,
                         struct error *err)
{
    if (in->settings.database[0] != '\0')
        return db_open(in->settings.database, DB_WRITER, ret, err);
    if (datadir_ensure(d, false, err) != 0 || datadir_check_database(d, err) != 0 ||
        datadir_lock(d, err) != 0)
        return -1;
    return db_open(d->database, DB_WRITER, ret, err);
}

static int vault_reset_run(struct invocation *in)
{
    struct vault_losses lost;
    struct error err = { 0 };
    struct db *db = NULL;
    struct datadir d;
    int r;

    datadir_init(&d, in->settings.data, &in->arena);
    r = open_database(in, &d, &db, &err);
    if (r == 0)
        r = reset(in, db, &lost, &err);
    db_close(db);
    datadir_done(&d);
    if (r != 0)
        return command_fail(&err);
    if (in->json)
        (void)printf("{\"secrets\":%lld,\"webhook_secrets\":%lld,\"second_factors\":%lld}\n",
                     (long long)lost.secrets, (long long)lost.webhook_secrets,
                     (long long)lost.second_factors);
    else
        (void)printf(
            "dropped: %s; set secrets again, rotate webhooks, enable standard ones; people sign in "
            "with their passwords alone until they add a second factor; the next start "
            "uses the master key that it finds, or makes one\n",
            vault_losses_text(&lost, &in->arena));
    return EXIT_DONE;
}

/* clang-format off */
const struct command audit_commands[] = {
    { "audit", "list",
      .options = OPTIONS({ "tenant", OPTION_TENANT, .help = "the tenant's log; without it the platform's" },
                         { "action", OPTION_TEXT, "NOUN.VERB", .help = "only this action, such as key.add" },
                         { "actor", OPTION_TEXT, "ACTOR", .help = "only this actor: operator, person:EMAIL (their tokens too) or key:KEY_ID" },
                         { "since", OPTION_TEXT, "TIME", .help = "date-time, or a span back from now such as 7d" },
                         { "until", OPTION_TEXT, "TIME", .help = "date-time, or a span back from now such as 1h" },
                         { "limit", OPTION_TEXT, "N", .help = "at most this many entries; 50 unless given" }),
      .help = "list the newest entries of the audit log",
      .examples = "muster audit list --tenant acme --since 7d\n"
                  "muster audit list --action tenant.add",
      .method = METHOD_GET, .path = "/api/v1/{tenant?tenants/{tenant}|platform}/audit",
      .answer = &audit_page_shape, .list = "entries",
      .columns = COLUMNS({ "SEQ", .cell = "{seq}" }, { "AT", .cell = "{at}" }, { "ACTOR", .cell = "{actor}" }, { "ACTION", .cell = "{action}" },
                         { "ORIGIN", .cell = "{origin}" }, { "TARGET", .cell = "{target}" }, { "DETAIL", .cell = "{detail}" }) },
    { "audit", "verify",
      .options = OPTIONS({ "tenant", OPTION_TENANT, .help = "the tenant's log; without it the platform's and every tenant's" },
                         { "head", OPTION_FILE, "FILE", .help = "file with lines of `muster audit head`: check only those logs, and that they still contain these heads" }),
      .help = "check that the audit log has not been altered",
      .examples = "muster audit verify\n"
                  "muster audit verify --head /media/kept/heads.txt",
      .run = audit_verify_run },
    { "audit", "head",
      .options = OPTIONS({ "tenant", OPTION_TENANT, .help = "the tenant's log; without it the platform's and every tenant's" }),
      .help = "print the signed end of the audit log, to be kept on another machine",
      .examples = "muster audit head > /media/kept/heads.txt",
      .run = audit_head_run },
    { "vault", "reset", .local_only = true,
      .options = OPTIONS({ "confirm", OPTION_FLAG, .help = "drop it; without this, say what would be dropped" }),
      .help = "go on without a lost master key: drops secrets, webhooks' secrets and second factors",
      .examples = "muster vault reset --confirm",
      .run = vault_reset_run },
    { 0 },
};
/* clang-format on */
