/* seal.c - seals and opens texts with the tenants' data keys. */
#include "features/vault/vault.h"

#include <stdlib.h>

#include <sodium.h>

#include "base/lock.h"
#include "base/mem.h"
#include "features/vault/data_keys.h"

/* Sealed bytes begin with the format and the version of the data key. */
enum { HEAD_BYTES = 1 + VAULT_VERSION_BYTES, FORM = 1 };

_Static_assert(VAULT_OVERHEAD == HEAD_BYTES + ENVELOPE_OVERHEAD, "as the header says");

struct vault *vault_new(const char *key_file)
{
    struct vault *v = NEW(struct vault);

    rwlock_init(&v->lock);
    v->ring = keyring_new();
    if (!keyring_from_variable(v->ring))
        v->path = mem_strdup(key_file);
    return v;
}

void vault_free(struct vault *v)
{
    if (v == NULL)
        return;
    rwlock_unshared(&v->lock);
    keyring_free(v->ring);
    signer_free(v->signer);
    rwlock_done(&v->lock);
    free(v->path);
    free(v);
}

void vault_wipe(struct buf *text)
{
    if (text->data != NULL)
        sodium_memzero(text->data, text->capacity);
    buf_done(text);
}

/* A command may be the first to need the key file, so an error in it is reported to its user. */
static int ensure_ring(struct vault *v, struct error *err)
{
    int r = 0;

    rwlock_write(&v->lock);
    if (v->ring->n == 0)
        r = vault_reload(v, err);
    rwlock_release(&v->lock);
    if (r != 0 && err != NULL)
        err->code = ERR_CONFLICT;
    return r;
}

void vault_write_version(int64_t version, uint8_t ret[VAULT_VERSION_BYTES])
{
    for (unsigned i = 0; i < VAULT_VERSION_BYTES; i++)
        ret[i] = (uint8_t)((uint64_t)version >> 8 * i & 0xff);
}

int vault_seal(struct vault *v, struct db *db, const struct vault_label *label, struct str plain,
               struct buf *out, struct error *err)
{
    size_t len = VAULT_OVERHEAD + plain.len;
    struct vault_key key;
    struct buf bound;
    uint8_t *bytes;

    if (ensure_ring(v, err) != 0 || vault_ensure_key(v, db, DATA_KEY_PLATFORM, err) != 0 ||
        vault_ensure_key(v, db, label->tenant_id, err) != 0 ||
        vault_get_key(v, db, label->tenant_id, DATA_KEY_TO_SEAL, &key, err) != 0)
        return -1;
    bytes = (uint8_t *)buf_reserve(out, len);
    if (bytes != NULL) {
        bytes[0] = FORM;
        vault_write_version(key.version, bytes + 1);
        envelope_seal(key.bytes, envelope_label(label, key.version, &bound), plain,
                      bytes + HEAD_BYTES);
        buf_done(&bound);
        buf_added(out, len);
    }
    sodium_memzero(&key, sizeof(key));
    return bytes != NULL ? 0 : err_set(err, ERR_INVALID, "too long to seal");
}

static int not_sealed(const struct vault_label *label, struct error *err)
{
    return err_set(err, ERR_SCHEMA,
                   "%s '%.*s' (version %lld) cannot be opened: the database was changed outside "
                   "muster",
                   label->kind, STR_ARG(label->name), (long long)label->version);
}

static int use_key(struct vault_opener *o, int64_t tenant_id, int64_t version, struct error *err)
{
    if (o->key.version == version && o->tenant_id == tenant_id)
        return 0;
    o->tenant_id = tenant_id;
    if (vault_get_key(o->vault, o->db, tenant_id, version, &o->key, err) == 0)
        return 0;
    o->key.version = 0;
    return -1;
}

int vault_open_next(struct vault_opener *o, const struct vault_label *label, struct str sealed,
                    struct buf *out, struct error *err)
{
    const uint8_t *head = (const uint8_t *)sealed.data;
    int64_t version = 0;
    struct buf bound;
    uint8_t *bytes;
    bool good;

    if (sealed.len < VAULT_OVERHEAD || head[0] != FORM)
        return not_sealed(label, err);
    for (unsigned i = 0; i < VAULT_VERSION_BYTES; i++)
        version |= (int64_t)head[1 + i] << 8 * i;
    if (version == 0)
        return not_sealed(label, err);
    if (use_key(o, label->tenant_id, version, err) != 0)
        return -1;
    bytes = (uint8_t *)buf_reserve(out, sealed.len);
    good = bytes != NULL &&
           envelope_open(o->key.bytes, envelope_label(label, version, &bound),
                         str_from(sealed.data + HEAD_BYTES, sealed.len - HEAD_BYTES), bytes);
    if (bytes != NULL)
        buf_done(&bound);
    if (!good)
        return not_sealed(label, err);
    buf_added(out, sealed.len - VAULT_OVERHEAD);
    return 0;
}

void vault_opener_done(struct vault_opener *o)
{
    sodium_memzero(&o->key, sizeof(o->key));
}

int vault_open(struct vault *v, struct db *db, const struct vault_label *label, struct str sealed,
               struct buf *out, struct error *err)
{
    struct vault_opener opener = { .vault = v, .db = db };
    int r = vault_open_next(&opener, label, sealed, out, err);

    vault_opener_done(&opener);
    return r;
}

int vault_digest(struct vault *v, struct db *db, struct str text, struct sha256 *ret,
                 struct error *err)
{
    struct vault_key key;

    if (vault_get_key(v, db, DATA_KEY_PLATFORM, DATA_KEY_NEWEST, &key, err) != 0)
        return -1;
    (void)crypto_generichash(ret->bytes, SHA256_BYTES, (const uint8_t *)text.data, text.len,
                             key.bytes, ENVELOPE_KEY);
    sodium_memzero(&key, sizeof(key));
    return 0;
}
