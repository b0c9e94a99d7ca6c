/* signer.c - keys for signing, derived from the platform's data key. */
#include "features/vault/signer.h"

#include <sodium.h>

#include "base/lock.h"
#include "features/vault/data_keys.h"

struct signer {
    uint8_t code_key[crypto_generichash_KEYBYTES];
    uint8_t public_key[crypto_sign_PUBLICKEYBYTES], secret_key[crypto_sign_SECRETKEYBYTES];
};

_Static_assert(SIGNATURE_BYTES == crypto_sign_BYTES &&
                   sizeof(struct sha256) >= crypto_generichash_BYTES,
               "as libsodium has them");

static void derive(const uint8_t key[ENVELOPE_KEY], const char *purpose, uint8_t ret[32])
{
    struct str text = str_of(purpose);

    (void)crypto_generichash(ret, 32, (const uint8_t *)text.data, text.len, key, ENVELOPE_KEY);
}

static struct signer *signer_new(const uint8_t key[ENVELOPE_KEY])
{
    struct signer *s = sodium_malloc(sizeof(*s));
    uint8_t seed[crypto_sign_SEEDBYTES];

    if (s == NULL)
        err_die("out of memory for keys");
    derive(key, "muster/1 code", s->code_key);
    derive(key, "muster/1 signature", seed);
    (void)crypto_sign_seed_keypair(s->public_key, s->secret_key, seed);
    sodium_memzero(seed, sizeof(seed));
    return s;
}

/* The vault's signer; NULL: not made yet. */
static const struct signer *made_signer(struct vault *v)
{
    const struct signer *s;

    rwlock_read(&v->lock);
    s = v->signer;
    rwlock_release(&v->lock);
    return s;
}

/* Another thread may have been first. */
static const struct signer *keep_signer(struct vault *v, struct signer *fresh)
{
    const struct signer *s;

    rwlock_write(&v->lock);
    if (v->signer == NULL)
        v->signer = fresh;
    else
        sodium_free(fresh);
    s = v->signer;
    rwlock_release(&v->lock);
    return s;
}

int vault_signer(struct vault *v, struct db *db, const struct signer **ret, struct error *err)
{
    uint8_t key[ENVELOPE_KEY];
    struct data_key_row row;
    ARENA_SCOPED(arena);
    int r;

    *ret = made_signer(v);
    if (*ret != NULL)
        return 0;
    r = data_key_get(db, DATA_KEY_PLATFORM, 0, &arena, &row, err);
    if (r == 0 && row.version != 0 && vault_open_row(v, &row, key, NULL) == 0)
        *ret = keep_signer(v, signer_new(key));
    sodium_memzero(key, sizeof(key));
    return r;
}

void signer_free(struct signer *s)
{
    sodium_free(s);
}

struct sha256 signer_code(const struct signer *s, struct str text)
{
    struct sha256 code;

    (void)crypto_generichash(code.bytes, sizeof(code.bytes), (const uint8_t *)text.data, text.len,
                             s->code_key, sizeof(s->code_key));
    return code;
}

void signer_sign(const struct signer *s, struct str text, char ret[SIGNATURE_TEXT + 1])
{
    uint8_t bytes[SIGNATURE_BYTES];

    (void)crypto_sign_detached(bytes, NULL, (const uint8_t *)text.data, text.len, s->secret_key);
    (void)sodium_bin2base64(ret, SIGNATURE_TEXT + 1, bytes, sizeof(bytes),
                            sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

void signer_public_key(const struct signer *s, char ret[PUBLIC_KEY_TEXT + 1])
{
    (void)sodium_bin2base64(ret, PUBLIC_KEY_TEXT + 1, s->public_key, sizeof(s->public_key),
                            sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

bool signer_verify(const struct signer *s, struct str text, struct str signature)
{
    uint8_t bytes[SIGNATURE_BYTES];
    size_t n = 0;

    return sodium_base642bin(bytes, sizeof(bytes), signature.data, signature.len, NULL, &n, NULL,
                             sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0 &&
           n == sizeof(bytes) &&
           crypto_sign_verify_detached(bytes, (const uint8_t *)text.data, text.len,
                                       s->public_key) == 0;
}
