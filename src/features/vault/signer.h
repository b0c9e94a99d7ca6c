/* signer.h - signs with keys that only holders of the master key have; the same after a rotation.
 *
 * Two ways: a code that only this installation can make and check, in a
 * microsecond; and a signature (Ed25519) that anyone with the public key can
 * check, in some tens.
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"

struct db;
struct signer;
struct vault;

enum { SIGNATURE_BYTES = 64, SIGNATURE_TEXT = 86, PUBLIC_KEY_TEXT = 43 };

/* *ret is the vault's; NULL when this process has no master key that fits the database, as a
 * command may. */
int vault_signer(struct vault *v, struct db *db, const struct signer **ret,
                 struct error *err) MUST_CHECK;

struct sha256 signer_code(const struct signer *s, struct str text);

/* The signature and the public key in base64url, NUL-terminated. */
void signer_sign(const struct signer *s, struct str text, char ret[SIGNATURE_TEXT + 1]);
void signer_public_key(const struct signer *s, char ret[PUBLIC_KEY_TEXT + 1]);

/* Did this installation sign the text? */
bool signer_verify(const struct signer *s, struct str text, struct str signature);
