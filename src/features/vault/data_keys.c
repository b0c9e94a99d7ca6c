/* data_keys.c - data keys, wrapped by the master key. */
#include "features/vault/data_keys.h"

#include <sodium.h>

#include "base/clock.h"
#include "base/lock.h"

enum { LABEL_MAX = 4096, WRAPPED_BYTES = ENVELOPE_OVERHEAD + ENVELOPE_KEY, FIRST_VERSION = 1 };

_Static_assert(ENVELOPE_KEY == crypto_aead_xchacha20poly1305_ietf_KEYBYTES &&
                   ENVELOPE_NONCE == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES &&
                   ENVELOPE_TAG == crypto_aead_xchacha20poly1305_ietf_ABYTES,
               "as libsodium has them");

/* Each part is preceded by its length, so that no two labels have the same bytes. */
struct str envelope_label(const struct vault_label *label, int64_t key_version, struct buf *out)
{
    const int64_t numbers[] = { label->tenant_id, label->version, key_version,
                                (int64_t)strlen(label->kind), (int64_t)label->name.len };

    buf_init(out, LABEL_MAX);
    buf_add_c(out, "muster/1");
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        for (unsigned shift = 0; shift < 64; shift += 8)
            buf_add_char(out, (char)((uint64_t)numbers[i] >> shift & 0xff));
    buf_add_c(out, label->kind);
    buf_add(out, label->name);
    return buf_str(out);
}

void envelope_seal(const uint8_t key[ENVELOPE_KEY], struct str bound, struct str plain,
                   uint8_t *ret)
{
    randombytes_buf(ret, ENVELOPE_NONCE);
    (void)crypto_aead_xchacha20poly1305_ietf_encrypt(
        ret + ENVELOPE_NONCE, NULL, (const uint8_t *)plain.data, plain.len,
        (const uint8_t *)bound.data, bound.len, NULL, ret, key);
}

bool envelope_open(const uint8_t key[ENVELOPE_KEY], struct str bound, struct str bytes,
                   uint8_t *ret)
{
    const uint8_t *nonce = (const uint8_t *)bytes.data;

    if (bytes.len < ENVELOPE_NONCE + ENVELOPE_TAG)
        return false;
    return crypto_aead_xchacha20poly1305_ietf_decrypt(
               ret, NULL, NULL, nonce + ENVELOPE_NONCE, bytes.len - ENVELOPE_NONCE,
               (const uint8_t *)bound.data, bound.len, nonce, key) == 0;
}

int vault_reload(struct vault *v, struct error *err)
{
    struct keyring *fresh;

    if (v->path == NULL)
        return 0;
    fresh = keyring_new();
    if (keyring_read(fresh, v->path, err) != 0) {
        keyring_free(fresh);
        return -1;
    }
    keyring_retire(fresh, v->ring);
    keyring_free(v->ring);
    v->ring = fresh;
    return 0;
}

static struct str key_label(const struct data_key_row *row, struct buf *out)
{
    const struct vault_label label = { .kind = "data-key",
                                       .tenant_id = row->tenant_id,
                                       .name = STR_LIT(""),
                                       .version = row->version };

    return envelope_label(&label, 0, out);
}

/* The index in the ring of the key that opens the row, or -1. */
static int unwrap(const struct vault *v, const struct data_key_row *row, uint8_t ret[ENVELOPE_KEY])
    REQUIRES_SHARED(v->lock)
{
    struct buf label;
    struct str bound = key_label(row, &label);
    int found = -1;

    for (size_t i = 0; i < v->ring->n && found < 0 && row->wrapped.len == WRAPPED_BYTES; i++)
        if (envelope_open(v->ring->keys[i], bound, row->wrapped, ret))
            found = (int)i;
    buf_done(&label);
    return found;
}

void vault_wrap(const struct vault *v, size_t index, const uint8_t key[ENVELOPE_KEY],
                struct data_key_row *row, struct arena *arena)
{
    uint8_t *bytes = arena_alloc(arena, WRAPPED_BYTES);
    struct buf label;

    envelope_seal(v->ring->keys[index], key_label(row, &label),
                  str_from((const char *)key, ENVELOPE_KEY), bytes);
    buf_done(&label);
    row->wrapped = str_from((const char *)bytes, WRAPPED_BYTES);
}

static int cannot_open(const struct data_key_row *row, struct error *err)
{
    return err_set(err, ERR_SCHEMA,
                   "the data key of %s %lld in the database cannot be opened with this master key: "
                   "restore the master key that this database was used with from its backup",
                   row->tenant_id == DATA_KEY_PLATFORM ? "the platform, tenant" : "tenant",
                   (long long)row->tenant_id);
}

int vault_open_row(struct vault *v, const struct data_key_row *row, uint8_t ret[ENVELOPE_KEY],
                   struct error *err)
{
    int index;

    rwlock_read(&v->lock);
    index = unwrap(v, row, ret);
    rwlock_release(&v->lock);
    if (index >= 0)
        return 0;
    rwlock_write(&v->lock);
    if (vault_reload(v, err) != 0) {
        if (err != NULL)
            err->code = ERR_UNAVAILABLE; /* whatever the problem with the key file, the vault is
                                            unavailable */
    } else {
        index = unwrap(v, row, ret);
        if (index < 0)
            (void)cannot_open(row, err);
    }
    rwlock_release(&v->lock);
    return index >= 0 ? 0 : -1;
}

/* The index of the master key to wrap with: the one that wraps the platform's key, since another
 * node may have rotated it; for the platform's own key, the first. -1 when there is no such key. */
static int wrapping_key_index(const struct vault *v, const struct data_key_row *platform)
    REQUIRES_SHARED(v->lock)
{
    uint8_t key[ENVELOPE_KEY];
    int index;

    if (platform->version == 0)
        return v->ring->n > 0 ? 0 : -1;
    index = unwrap(v, platform, key);
    sodium_memzero(key, sizeof(key));
    return index;
}

/* A new data key in the row, whose tenant and version are set. The lock on the platform's row
 * orders this with rotations. */
static int make_key(struct vault *v, struct db *db, struct data_key_row *row, struct arena *arena,
                    struct error *err)
{
    struct data_key_row platform;
    uint8_t key[ENVELOPE_KEY];
    int index;

    if (data_key_lock(db, arena, &platform, err) != 0)
        return -1;
    rwlock_write(&v->lock);
    index = wrapping_key_index(v, &platform);
    if (index < 0 && vault_reload(v, err) == 0) {
        index = wrapping_key_index(v, &platform);
        if (index < 0)
            (void)cannot_open(&platform, err);
    }
    if (index >= 0) {
        randombytes_buf(key, sizeof(key));
        vault_wrap(v, (size_t)index, key, row, arena);
        sodium_memzero(key, sizeof(key));
    }
    rwlock_release(&v->lock);
    return index < 0 ? -1 : data_key_add(db, row, clock_wall_us(), err);
}

int vault_ensure_key(struct vault *v, struct db *db, int64_t tenant_id, struct error *err)
{
    struct data_key_row row;
    ARENA_SCOPED(arena);
    int r;

    r = data_key_get(db, tenant_id, DATA_KEY_NEWEST, &arena, &row, err);
    if (r == 0 && row.version == 0) {
        row.tenant_id = tenant_id;
        row.version = FIRST_VERSION;
        r = make_key(v, db, &row, &arena, err);
    }
    return r;
}

int vault_add_key(struct vault *v, struct db *db, const struct data_key_row *newest,
                  struct error *err)
{
    struct data_key_row row = { .tenant_id = newest->tenant_id, .version = newest->version + 1 };
    ARENA_SCOPED(arena);

    return make_key(v, db, &row, &arena, err);
}

int vault_get_key(struct vault *v, struct db *db, int64_t tenant_id, int64_t version,
                  struct vault_key *ret, struct error *err)
{
    struct data_key_row row;
    ARENA_SCOPED(arena);

    if (data_key_get(db, tenant_id, version, &arena, &row, err) != 0)
        return -1;
    ret->version = row.version;
    if (row.version == 0)
        return err_set(err, ERR_SCHEMA, "tenant %lld has no such data key", (long long)tenant_id);
    return vault_open_row(v, &row, ret->bytes, err);
}
