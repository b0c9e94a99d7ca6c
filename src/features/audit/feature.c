/* feature.c - starts the vault with the log, and serves the log's routes. */
#include "engine/feature.h"

#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "base/log.h"
#include "db/db.h"
#include "engine/engine.h"
#include "features/access/shapes.h"
#include "features/audit/audit.h"
#include "features/audit/shapes.h"
#include "features/features.h"
#include "features/vault/signer.h"
#include "features/vault/vault.h"

/* Starts the vault, which may begin again without its lost key: that is in the log. Then signs what
 * commands wrote without the key. */
static int audit_open(struct engine *e, void **ret_state, struct error *err)
{
    struct db *db = engine_open_db(e);
    const struct signer *signer;
    size_t n;

    *ret_state = NULL;
    if (!engine_serves(e))
        return 0;
    if (vault_start(vault_of(e), db, audit_note_reset, err) != 0 ||
        vault_signer(vault_of(e), db, &signer, err) != 0 || db_begin(db, err) != 0)
        return -1;
    if ((signer != NULL && audit_sign_old(signer, db, &n, err) != 0) || db_commit(db, err) != 0) {
        db_rollback(db);
        return -1;
    }
    if (signer != NULL && n > 0)
        log_write(LOG_WARNING, "audit", "signed %zu audit logs that had no signature", n);
    return 0;
}

/* The chain that the path names. */
static int64_t chain_of(const struct api_call *call)
{
    return call->tenant == NULL ? AUDIT_PLATFORM : call->tenant_id;
}

static int list_audit(struct api_call *call, struct db *db, struct error *err)
{
    return audit_read_page(db, chain_of(call), call->query, call->arena, call->answer, err);
}

struct verify_call {
    struct audit_proof proof;
    struct audit_walk *walk;
};

/* One turn of the verification. */
static int verify_some(struct api_call *call, struct db *db, struct error *err)
{
    struct verify_call *v = call->own;

    if (v->walk == NULL) {
        if (vault_signer(vault_of(call->api->engine), db, &v->proof.signer, err) != 0)
            return -1;
        v->walk = audit_walk_new(call->arena, chain_of(call), &v->proof);
    }
    return audit_walk_go_on(v->walk, db, err);
}

/* Waits for the next turn behind the reads of others. */
static void verified_some(struct api_call *call, const struct error *failed)
{
    struct verify_call *v = call->own;
    struct error err = { 0 };

    if (failed == NULL && !audit_walk_is_over(v->walk)) {
        call->asked_us = clock_raw_us(); /* the database answers, and a log may be long */
        if (call_read(call, verify_some, verified_some, &err) == 0)
            return;
        failed = &err;
    }
    if (failed == NULL)
        audit_walk_verdict(v->walk, call->answer);
    call_reply(call, failed);
}

static int verify_audit(struct api_call *call, struct error *err)
{
    const struct audit_verify_query *query = call->query;
    struct verify_call *v = ARENA_NEW(call->arena, struct verify_call);

    v->proof.kept = str_is_null(query->head) ? NULL : &query->kept;
    if (v->proof.kept != NULL && v->proof.kept->tenant_id != chain_of(call))
        return err_set(err, ERR_CONFLICT, "this head is of another workspace's audit log");
    call->own = v;
    return call_read(call, verify_some, verified_some, err);
}

static int get_audit_head(struct api_call *call, struct db *db, struct error *err)
{
    const struct signer *signer;

    if (vault_signer(vault_of(call->api->engine), db, &signer, err) != 0)
        return -1;
    return audit_read_head(db, chain_of(call), signer, call->arena, call->answer, err);
}

/* clang-format off */
static const struct route audit_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/audit", ADMIN, 200), .read = list_audit, .params = &tenant_path_shape, .query = &audit_query_shape, .answer = &audit_page_shape,
      .id = "list_tenant_audit", .summary = "List a workspace's audit log, newest first",
      .description = "Every administrative change and every time that secrets were handed out. A filtered page may be short: only a null `next` is the end." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/audit/verify", ADMIN, 200), .handler = verify_audit, .params = &tenant_path_shape, .query = &audit_verify_query_shape, .answer = &audit_verdict_shape, .also = ALSO_CONFLICT,
      .id = "verify_tenant_audit", .summary = "Verify a workspace's audit log",
      .description = "Recomputes the chain of hashes, checks the signature of its end, and names the first entry that was changed, removed or inserted. With `head`, also that the log still contains that head." },
    { ROUTE(GET, "/api/v1/platform/audit", PLATFORM, 200), .read = list_audit, .query = &audit_query_shape, .answer = &audit_page_shape,
      .id = "list_platform_audit", .summary = "List the platform's audit log, newest first",
      .description = "Every administrative change and every time that secrets were handed out. A filtered page may be short: only a null `next` is the end." },
    { ROUTE(GET, "/api/v1/platform/audit/verify", PLATFORM, 200), .handler = verify_audit, .query = &audit_verify_query_shape, .answer = &audit_verdict_shape, .also = ALSO_CONFLICT,
      .id = "verify_platform_audit", .summary = "Verify the platform's audit log",
      .description = "Recomputes the chain of hashes, checks the signature of its end, and names the first entry that was changed, removed or inserted. With `head`, also that the log still contains that head." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/audit/head", ADMIN, 200), .read = get_audit_head, .params = &tenant_path_shape, .answer = &audit_head_shape, .also = ALSO_CONFLICT,
      .id = "get_tenant_audit_head", .summary = "Get the signed end of a workspace's audit log",
      .description = "Keep it where who can write the database cannot, and verify the log against it later. 409 when this process has no master key." },
    { ROUTE(GET, "/api/v1/platform/audit/head", PLATFORM, 200), .read = get_audit_head, .answer = &audit_head_shape, .also = ALSO_CONFLICT,
      .id = "get_platform_audit_head", .summary = "Get the signed end of the platform's audit log",
      .description = "Keep it where who can write the database cannot, and verify the log against it later. 409 when this process has no master key." },
    { 0 },
};
/* clang-format on */

const struct feature audit_feature = {
    .name = "audit",
    .about = "The log of administrative changes, and proof that it is complete.",
    .routes = { audit_routes },
    .commands = { audit_commands },
    .open = audit_open,
};
