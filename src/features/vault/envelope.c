/* envelope.c - authenticated encryption with a label. */
#include "features/vault/envelope.h"

#include <sodium.h>

enum { LABEL_MAX = 4096 };

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
