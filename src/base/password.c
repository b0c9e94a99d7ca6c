/* password.c - a thin door to libsodium's argon2id. */
#include "base/password.h"

#include <sodium.h>

enum { PASSES = 3, HASH_BYTES = 32 };

static const size_t memory_bytes = MIB(64);

_Static_assert(PASSWORD_HASH_MAX == crypto_pwhash_STRBYTES, "argon2id has another text size");

int password_hash(struct str password, char ret[PASSWORD_HASH_MAX], struct error *err)
{
    if (crypto_pwhash_str_alg(ret, password.data, password.len, PASSES, memory_bytes,
                              crypto_pwhash_ALG_ARGON2ID13) == 0)
        return 0;
    return err_set(err, ERR_UNAVAILABLE, "not enough memory to hash a password");
}

/* What a hash was made with, and of it. */
struct recipe {
    unsigned long long passes;
    size_t memory_bytes;
    unsigned char salt[crypto_pwhash_SALTBYTES], made[HASH_BYTES];
};

static bool decode(struct str text, unsigned char *ret, size_t size)
{
    size_t n;

    return sodium_base642bin(ret, size, text.data, text.len, NULL, &n, NULL,
                             sodium_base64_VARIANT_ORIGINAL_NO_PADDING) == 0 &&
           n == size;
}

/* "$argon2id$v=19$m=65536,t=3,p=1$SALT$HASH" */
static bool parse(struct str hash, struct recipe *ret)
{
    static const char begin[] = "$argon2id$v=19$m=";
    struct str costs;
    int64_t kib, passes;

    if (hash.len < strlen(begin) || memcmp(hash.data, begin, strlen(begin)) != 0)
        return false;
    hash = str_from(hash.data + strlen(begin), hash.len - strlen(begin));
    costs = str_split(&hash, '$');
    if (!str_to_int(str_split(&costs, ','), &kib) || kib < 1 || kib > INT32_MAX)
        return false;
    if (!str_eq_c(str_split(&costs, '='), "t") || !str_to_int(str_split(&costs, ','), &passes) ||
        passes < 1 || !str_eq_c(costs, "p=1"))
        return false;
    ret->memory_bytes = (size_t)kib * KIB(1);
    ret->passes = (unsigned long long)passes;
    return decode(str_split(&hash, '$'), ret->salt, sizeof(ret->salt)) &&
           decode(hash, ret->made, sizeof(ret->made));
}

/* libsodium's own verification says no when it finds no memory, and a user would be told that the
 * password is wrong: so the hash is made here once more. */
int password_verify(struct str hash, struct str password, bool *ret, struct error *err)
{
    struct recipe recipe = { .passes = PASSES, .memory_bytes = memory_bytes }; /* as much work */
    unsigned char made[HASH_BYTES];
    const bool known = !str_is_null(hash) && parse(hash, &recipe);

    *ret = false;
    if (crypto_pwhash(made, sizeof(made), password.data, password.len, recipe.salt, recipe.passes,
                      recipe.memory_bytes, crypto_pwhash_ALG_ARGON2ID13) != 0)
        return err_set(err, ERR_UNAVAILABLE, "not enough memory to check a password");
    *ret = known && sodium_memcmp(made, recipe.made, sizeof(made)) == 0;
    sodium_memzero(made, sizeof(made));
    return 0;
}

bool password_is_stale(struct str hash)
{
    struct recipe recipe;

    return !parse(hash, &recipe) || recipe.passes != PASSES || recipe.memory_bytes != memory_bytes;
}
