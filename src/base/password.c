/* password.c - a thin door to libsodium's argon2id. */
#include "base/password.h"

#include <sodium.h>

enum { PASSES = 3 };

static const size_t memory_bytes = MIB(64);

_Static_assert(PASSWORD_HASH_MAX == crypto_pwhash_STRBYTES, "argon2id has another text size");

int password_hash(struct str password, char ret[PASSWORD_HASH_MAX], struct error *err)
{
    if (crypto_pwhash_str_alg(ret, password.data, password.len, PASSES, memory_bytes,
                              crypto_pwhash_ALG_ARGON2ID13) == 0)
        return 0;
    return err_set(err, ERR_UNAVAILABLE, "not enough memory to hash a password");
}

/* As a C string of the size that libsodium reads. */
static void copy_hash(struct str hash, char ret[PASSWORD_HASH_MAX])
{
    size_t n = hash.len < PASSWORD_HASH_MAX - 1 ? hash.len : PASSWORD_HASH_MAX - 1;

    memset(ret, 0, PASSWORD_HASH_MAX);
    memcpy(ret, hash.data, n);
}

/* The work of a verification, for nothing. */
static void waste(struct str password)
{
    static const unsigned char salt[crypto_pwhash_SALTBYTES];
    unsigned char out[crypto_hash_sha256_BYTES];
    int done = crypto_pwhash(out, sizeof(out), password.data, password.len, salt, PASSES,
                             memory_bytes, crypto_pwhash_ALG_ARGON2ID13);

    (void)done;
}

bool password_verify(struct str hash, struct str password)
{
    char text[PASSWORD_HASH_MAX];

    if (str_is_null(hash)) {
        waste(password);
        return false;
    }
    copy_hash(hash, text);
    return crypto_pwhash_str_verify(text, password.data, password.len) == 0;
}

bool password_is_stale(struct str hash)
{
    char text[PASSWORD_HASH_MAX];

    copy_hash(hash, text);
    return crypto_pwhash_str_needs_rehash(text, PASSES, memory_bytes) != 0;
}
