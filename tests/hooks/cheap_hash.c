/* cheap_hash.c - loaded before libsodium (LD_PRELOAD): a password is hashed with the least effort.
 *
 * A real hash takes 64 MiB and a sixth of a second, and tests make many hundreds. The program is
 * the same one: what it asks of libsodium is answered with the weakest parameters there are.
 */
#include <dlfcn.h>
#include <sodium.h>
#include <string.h>

enum { PASSES = crypto_pwhash_OPSLIMIT_MIN, MEMORY_BYTES = crypto_pwhash_MEMLIMIT_MIN };

/* libsodium's own function of this name. */
static void find(const char *name, void *ret)
{
    void *found = dlsym(RTLD_NEXT, name);

    memcpy(ret, &found, sizeof(found));
}

int crypto_pwhash_str_alg(char out[crypto_pwhash_STRBYTES], const char *const password,
                          unsigned long long len, unsigned long long passes, size_t memory_bytes,
                          int algorithm)
{
    int (*real)(char *, const char *, unsigned long long, unsigned long long, size_t, int);

    (void)passes;
    (void)memory_bytes;
    find("crypto_pwhash_str_alg", &real);
    return real(out, password, len, PASSES, MEMORY_BYTES, algorithm);
}

int crypto_pwhash(unsigned char *const out, unsigned long long out_len, const char *const password,
                  unsigned long long len, const unsigned char *const salt,
                  unsigned long long passes, size_t memory_bytes, int algorithm)
{
    int (*real)(unsigned char *, unsigned long long, const char *, unsigned long long,
                const unsigned char *, unsigned long long, size_t, int);

    (void)passes;
    (void)memory_bytes;
    find("crypto_pwhash", &real);
    return real(out, out_len, password, len, salt, PASSES, MEMORY_BYTES, algorithm);
}

int crypto_pwhash_str_needs_rehash(const char hash[crypto_pwhash_STRBYTES],
                                   unsigned long long passes, size_t memory_bytes)
{
    int (*real)(const char *, unsigned long long, size_t);

    (void)passes;
    (void)memory_bytes;
    find("crypto_pwhash_str_needs_rehash", &real);
    return real(hash, PASSES, MEMORY_BYTES);
}
