/* digest.h - SHA-256, BLAKE2b, checksums, base62, base64url and randomness.
 *
 * Thread-safe after digest_init().
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"
#include "base/str.h"

struct arena;

enum { SHA256_BYTES = 32, MARK_BYTES = 16, SIP_KEY_BYTES = 16 };

struct sha256 {
    uint8_t bytes[SHA256_BYTES];
};

/* Once per process, before anything else here; aborts when there is no randomness. */
void digest_init(void);

struct sha256 digest_sha256(struct str s);

/* Its bytes, as the key of a map or a column. */
static inline struct str digest_str(const struct sha256 *digest)
{
    return str_from((const char *)digest->bytes, SHA256_BYTES);
}

/* A digest of bodies for ETags: BLAKE2b, several times as fast as SHA-256. */
struct mark {
    uint8_t bytes[MARK_BYTES];
};
struct mark digest_mark(struct str s);

/* In time that does not depend on where they differ. */
bool digest_equal(const struct sha256 *a, const struct sha256 *b);

/* The same for two secrets whose lengths are not secret. */
bool digest_equal_text(struct str a, struct str b);

/* CRC-32 (IEEE). */
uint32_t digest_crc32(struct str s);

/* CRC-32C (Castagnoli), the checksum of stored rows: goes on from the checksum of what came before;
 * 0 to begin. Every change of up to 32 bits in a row is found, and of the others all but one in
 * four thousand million. It is no protection against people, who can compute it too. crc32c.c. */
uint32_t crc32c(uint32_t crc, const void *data, size_t len);

/* The same without the processor's instruction. */
uint32_t crc32c_by_table(uint32_t crc, const void *data, size_t len);

/* `n` digits 0-9A-Za-z, most significant first. */
void digest_base62(uint64_t value, char *ret, size_t n);

/* The value of such digits. Other characters give some value: format it again and compare. */
uint64_t digest_base62_value(struct str digits);

/* `n` random base62 digits, each equally likely. */
void digest_random_base62(char *ret, size_t n);

void digest_random(void *ret, size_t n);

/* A new id of a row that people see: the prefix, such as "key_", and 16 such digits; in the
 * arena. */
struct str digest_random_id(const char *prefix, struct arena *arena);

/* The same with digits of a time and ten random ones: such ids sort by time. */
struct str digest_time_id(const char *prefix, int64_t at, struct arena *arena);

/* 32 bytes as 43 letters, digits, '-' and '_', NUL-terminated. */
enum { BASE64URL_LEN = 43 };
void digest_base64url(const uint8_t bytes[SHA256_BYTES], char ret[BASE64URL_LEN + 1]);

/* The same of 32 random bytes: a secret that cannot be guessed. */
void digest_random_base64url(char ret[BASE64URL_LEN + 1]);

/* Uniform in [0, below). */
uint32_t digest_random_below(uint32_t below);

/* Keyed with a secret of this process, so that clients cannot make keys collide. */
uint64_t digest_sip(struct str s);

/* The same with a key of the caller's, for hashes that outlive the process. */
uint64_t digest_sip_keyed(const uint8_t key[SIP_KEY_BYTES], struct str s);
