/* audit.c - the chain of hashes. */
#include "features/audit/audit.h"

#include "api/api.h"
#include "api/call.h"
#include "base/buf.h"
#include "base/clock.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/audit/signature.h"
#include "features/vault/signer.h"
#include "features/vault/vault.h"

static void add_number(struct buf *out, int64_t n)
{
    for (unsigned shift = 0; shift < 64; shift += 8)
        buf_add_char(out, (char)((uint64_t)n >> shift & 0xff));
}

/* Each text is preceded by its length, so that no two entries have the same bytes; a null text has
 * none. */
static void add_text(struct buf *out, struct str s)
{
    add_number(out, str_is_null(s) ? -1 : (int64_t)s.len);
    buf_add(out, s);
}

struct sha256 audit_hash(const struct sha256 *before, int64_t seq, const struct audit_entry *entry)
{
    struct sha256 hash;
    BUF_SCOPED(out, SIZE_MAX); /* bounded by the size of the request */

    buf_add(&out, digest_str(before));
    add_number(&out, entry->tenant_id);
    add_number(&out, seq);
    add_number(&out, entry->at);
    add_text(&out, entry->actor);
    add_text(&out, entry->action);
    add_text(&out, entry->target);
    add_text(&out, entry->origin);
    add_text(&out, entry->detail);
    hash = digest_sha256(buf_str(&out));
    return hash;
}

int audit_add(const struct signer *signer, struct db *db, const struct audit_entry *entry,
              struct error *err)
{
    struct audit_head before, head;

    if (store_audit_lock(db, entry->tenant_id, &before, err) != 0)
        return -1;
    head = before;
    head.seq++;
    head.hash = audit_hash(&before.hash, head.seq, entry);
    if (audit_sign(signer, db, entry->tenant_id, &before, &head, err) != 0)
        return -1;
    return store_audit_append(db, entry, &head, err);
}

int audit_call(struct api_call *call, struct db *db, const char *action, struct error *err)
{
    const struct http_request *request = &call->exchange->request;
    const struct audit_entry entry = {
        .tenant_id =
            call->tenant == NULL || call->audit_platform ? AUDIT_PLATFORM : call->tenant->id,
        .at = clock_wall_us(),
        .actor = auth_actor(call),
        .action = str_of(action),
        .target = str_is_null(call->audit_target) ? request->path : call->audit_target,
        .origin = auth_origin(call),
        .detail = call->audit_detail,
    };
    const struct signer *signer;

    if (vault_signer(vault_of(call->api->engine), db, &signer, err) != 0)
        return -1;
    return audit_add(signer, db, &entry, err);
}
