/* envelope.h - XChaCha20-Poly1305 with a random nonce and a label bound in; private to the vault.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "features/vault/vault.h"

enum {
    ENVELOPE_KEY = 32,
    ENVELOPE_NONCE = 24,
    ENVELOPE_TAG = 16,
    ENVELOPE_OVERHEAD = ENVELOPE_NONCE + ENVELOPE_TAG,
};

/* The label as bytes to authenticate with the text. In `out`, which is initialised here. */
struct str envelope_label(const struct vault_label *label, int64_t key_version, struct buf *out);

/* Nonce, ciphertext and tag, ENVELOPE_OVERHEAD bytes more than `plain`. */
void envelope_seal(const uint8_t key[ENVELOPE_KEY], struct str bound, struct str plain,
                   uint8_t *ret);

/* False when the bytes were not sealed with this key and these bound bytes. */
bool envelope_open(const uint8_t key[ENVELOPE_KEY], struct str bound, struct str bytes,
                   uint8_t *ret);
