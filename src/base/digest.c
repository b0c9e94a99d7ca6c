/* digest.c - thin wrappers of libsodium and zlib. */
#include "base/digest.h"

#include <sodium.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/err.h"

static const char base62[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

static uint8_t sip_key[SIP_KEY_BYTES];

_Static_assert(MARK_BYTES >= crypto_generichash_BYTES_MIN, "BLAKE2b gives no fewer bytes");
_Static_assert(SIP_KEY_BYTES == crypto_shorthash_KEYBYTES, "SipHash has another key size");

void digest_init(void)
{
    if (sodium_init() < 0)
        err_die("libsodium cannot be initialised: no source of randomness");
    randombytes_buf(sip_key, sizeof(sip_key));
}

struct sha256 digest_sha256(struct str s)
{
    struct sha256 digest;

    crypto_hash_sha256(digest.bytes, (const unsigned char *)s.data, s.len);
    return digest;
}

struct mark digest_mark(struct str s)
{
    struct mark mark;

    (void)crypto_generichash(mark.bytes, MARK_BYTES, (const unsigned char *)s.data, s.len, NULL, 0);
    return mark;
}

bool digest_equal(const struct sha256 *a, const struct sha256 *b)
{
    return sodium_memcmp(a->bytes, b->bytes, SHA256_BYTES) == 0;
}

bool digest_equal_text(struct str a, struct str b)
{
    return a.len == b.len && sodium_memcmp(a.data, b.data, a.len) == 0;
}

uint32_t digest_crc32(struct str s)
{
    return (uint32_t)crc32_z(0, (const unsigned char *)s.data, s.len);
}

void digest_base62(uint64_t value, char *ret, size_t n)
{
    while (n > 0) {
        ret[--n] = base62[value % 62];
        value /= 62;
    }
}

static unsigned digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'A' && c <= 'Z')
        return (unsigned)(c - 'A') + 10;
    return (unsigned)(c - 'a') + 36;
}

uint64_t digest_base62_value(struct str digits)
{
    uint64_t value = 0;

    for (size_t i = 0; i < digits.len; i++)
        value = value * 62 + digit_value(digits.data[i]);
    return value;
}

void digest_random_base62(char *ret, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ret[i] = base62[randombytes_uniform(62)];
}

void digest_random(void *ret, size_t n)
{
    randombytes_buf(ret, n);
}

void digest_base64url(const uint8_t bytes[SHA256_BYTES], char ret[BASE64URL_LEN + 1])
{
    sodium_bin2base64(ret, BASE64URL_LEN + 1, bytes, SHA256_BYTES,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

void digest_random_base64url(char ret[BASE64URL_LEN + 1])
{
    uint8_t bytes[SHA256_BYTES];

    digest_random(bytes, sizeof(bytes));
    digest_base64url(bytes, ret);
}

struct str digest_random_id(const char *prefix, struct arena *arena)
{
    char digits[16];

    digest_random_base62(digits, sizeof(digits));
    return arena_printf(arena, "%s%.*s", prefix, (int)sizeof(digits), digits);
}

struct str digest_time_id(const char *prefix, int64_t at, struct arena *arena)
{
    enum { TIME_DIGITS = 11, RANDOM_DIGITS = 10 };
    char digits[TIME_DIGITS + RANDOM_DIGITS];

    digest_base62((uint64_t)at, digits, TIME_DIGITS);
    digest_random_base62(digits + TIME_DIGITS, RANDOM_DIGITS);
    return arena_printf(arena, "%s%.*s", prefix, (int)sizeof(digits), digits);
}

uint32_t digest_random_below(uint32_t below)
{
    return randombytes_uniform(below);
}

uint64_t digest_sip_keyed(const uint8_t key[SIP_KEY_BYTES], struct str s)
{
    unsigned char out[crypto_shorthash_BYTES];
    uint64_t value;

    crypto_shorthash(out, (const unsigned char *)s.data, s.len, key);
    memcpy(&value, out, sizeof(value));
    return value;
}

uint64_t digest_sip(struct str s)
{
    return digest_sip_keyed(sip_key, s);
}
