/* audit.c - the chain of hashes, codes over its end, and heads as text. */
#include "features/audit/audit.h"

#include <stdio.h>

#include "api/api.h"
#include "api/call.h"
#include "base/buf.h"
#include "base/clock.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/vault/signer.h"
#include "features/vault/vault.h"

#define HEAD_FORM "mh1"

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

static struct sha256 code_of(const struct signer *signer, int64_t tenant_id,
                             const struct audit_head *head)
{
    struct sha256 code;
    BUF_SCOPED(text, 128);

    buf_add_c(&text, "muster/1 end");
    add_number(&text, tenant_id);
    add_number(&text, head->signed_seq);
    add_number(&text, head->unsigned_entries);
    buf_add(&text, digest_str(&head->signed_hash));
    code = signer_code(signer, buf_str(&text));
    return code;
}

bool audit_signature_holds(const struct signer *signer, int64_t tenant_id,
                           const struct audit_head *head)
{
    struct sha256 code = code_of(signer, tenant_id, head);

    return head->is_signed && digest_equal(&code, &head->signature);
}

static void sign(const struct signer *signer, int64_t tenant_id, struct audit_head *head)
{
    head->is_signed = true;
    head->signed_seq = head->seq;
    head->signed_hash = head->hash;
    head->signature = code_of(signer, tenant_id, head);
}

/* Is the last signed entry still in the chain? */
static int check_signed_entry(struct db *db, int64_t tenant_id, const struct audit_head *head,
                              bool *ret, struct error *err)
{
    struct sha256 stored = head->hash;

    if (head->signed_seq != head->seq &&
        audit_stored_hash(db, tenant_id, head->signed_seq, &stored, err) != 0)
        return -1;
    *ret = head->signed_seq <= head->seq && digest_equal(&stored, &head->signed_hash);
    return 0;
}

/* Signs the new end in `head`, whose previous end was `before`; leaves the previous signature
 * without a key (signer NULL), and when it does not hold. Within the transaction. */
static int audit_sign(const struct signer *signer, struct db *db, int64_t tenant_id,
                      const struct audit_head *before, struct audit_head *head, struct error *err)
{
    bool good = before->seq == 0 && !before->is_signed;

    if (signer == NULL)
        return 0;
    if (!good && audit_signature_holds(signer, tenant_id, before) &&
        check_signed_entry(db, tenant_id, before, &good, err) != 0)
        return -1;
    if (good) {
        head->unsigned_entries += before->seq - before->signed_seq;
        sign(signer, tenant_id, head);
    }
    return 0;
}

int audit_sign_old(const struct signer *signer, struct db *db, size_t *ret_n, struct error *err)
{
    struct audit_head head;
    int64_t tenant_id;
    bool found;

    *ret_n = 0;
    while (audit_next_unsigned(db, &tenant_id, &found, err) == 0) {
        if (!found)
            return 0;
        if (audit_lock(db, tenant_id, &head, err) != 0)
            return -1;
        head.unsigned_entries = head.seq;
        sign(signer, tenant_id, &head);
        if (audit_set_head(db, tenant_id, &head, err) != 0)
            return -1;
        ++*ret_n;
    }
    return -1;
}

struct str audit_head_text(const struct signer *signer, int64_t tenant_id,
                           const struct audit_head *head, struct arena *arena)
{
    char hash[2 * SHA256_BYTES + 1], signature[SIGNATURE_TEXT + 1];
    struct str text;

    for (size_t i = 0; i < SHA256_BYTES; i++)
        (void)snprintf(hash + 2 * i, 3, "%02x", head->hash.bytes[i]);
    text = arena_printf(arena, HEAD_FORM ".%lld.%lld.%s.%lld", (long long)tenant_id,
                        (long long)head->seq, hash, (long long)head->unsigned_entries);
    signer_sign(signer, text, signature);
    return arena_printf(arena, "%.*s.%s", STR_ARG(text), signature);
}

static bool read_hash(struct str hex, struct sha256 *ret)
{
    if (hex.len != 2 * (size_t)SHA256_BYTES)
        return false;
    for (size_t i = 0; i < hex.len; i++) {
        const int digit = str_hex_digit(hex.data[i]);

        if (digit < 0)
            return false;
        ret->bytes[i / 2] = (uint8_t)(ret->bytes[i / 2] << 4 | digit);
    }
    return true;
}

bool audit_head_read(struct str text, struct kept_head *ret)
{
    struct str rest = text;

    *ret = (struct kept_head){ 0 };
    if (!str_eq_c(str_split(&rest, '.'), HEAD_FORM) ||
        !str_to_int(str_split(&rest, '.'), &ret->tenant_id) ||
        !str_to_int(str_split(&rest, '.'), &ret->seq) ||
        !read_hash(str_split(&rest, '.'), &ret->hash) ||
        !str_to_int(str_split(&rest, '.'), &ret->unsigned_entries) || str_is_null(rest))
        return false;
    ret->signature = rest;
    ret->text = str_from(text.data, text.len - rest.len - 1);
    return ret->tenant_id >= 0 && ret->seq >= 0 && rest.len == SIGNATURE_TEXT;
}

bool audit_head_holds(const struct signer *signer, const struct kept_head *kept)
{
    return signer_verify(signer, kept->text, kept->signature);
}

static int audit_add(const struct signer *signer, struct db *db, const struct audit_entry *entry,
                     struct error *err)
{
    struct audit_head before, head;

    if (audit_lock(db, entry->tenant_id, &before, err) != 0)
        return -1;
    head = before;
    head.seq++;
    head.hash = audit_hash(&before.hash, head.seq, entry);
    if (audit_sign(signer, db, entry->tenant_id, &before, &head, err) != 0)
        return -1;
    return audit_append(db, entry, &head, err);
}

int audit_note_reset(struct db *db, const struct vault_losses *lost, struct error *err)
{
    struct audit_entry entry = { .tenant_id = AUDIT_PLATFORM,
                                 .at = clock_wall_us(),
                                 .actor = STR_LIT("operator"),
                                 .action = STR_LIT(AUDIT_RESET),
                                 .target = STR_LIT("master key"),
                                 .origin = STR_LIT("local") };
    struct audit_head head;
    ARENA_SCOPED(arena);

    entry.detail =
        arena_printf(&arena, "{\"secrets\":%lld,\"webhook_secrets\":%lld,\"second_factors\":%lld}",
                     (long long)lost->secrets, (long long)lost->webhook_secrets,
                     (long long)lost->second_factors);
    do {
        if (audit_lock(db, entry.tenant_id, &head, err) != 0)
            return -1;
        head = (struct audit_head){ .seq = head.seq + 1,
                                    .hash = audit_hash(&head.hash, head.seq + 1, &entry) };
        if (audit_append(db, &entry, &head, err) != 0 ||
            audit_next(db, entry.tenant_id, &entry.tenant_id, err) != 0)
            return -1;
    } while (entry.tenant_id != AUDIT_PLATFORM);
    return 0;
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
