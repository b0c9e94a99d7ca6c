/* totp.c - one-time passwords out of HMAC-SHA-1. */
#include "features/second_factor/totp.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/err.h"

enum { HMAC_BYTES = 20, MILLION = 1000000 };

void totp_make_key(uint8_t ret[TOTP_KEY_BYTES])
{
    digest_random(ret, TOTP_KEY_BYTES);
}

void totp_key_text(const uint8_t key[TOTP_KEY_BYTES], char ret[TOTP_KEY_CHARS + 1])
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    unsigned bits = 0;
    uint32_t held = 0;
    size_t n = 0;

    for (size_t i = 0; i < TOTP_KEY_BYTES; i++) {
        held = held << 8 | key[i];
        for (bits += 8; bits >= 5; bits -= 5)
            ret[n++] = alphabet[held >> (bits - 5) & 31];
    }
    ret[n] = '\0';
}

int64_t totp_step(int64_t wall_us)
{
    return wall_us / USEC_PER_SEC / TOTP_STEP_S;
}

void totp_code(const uint8_t key[TOTP_KEY_BYTES], int64_t step, char ret[TOTP_DIGITS + 1])
{
    uint8_t counter[8], mac[EVP_MAX_MD_SIZE];
    unsigned n = sizeof(mac);
    uint32_t number;
    size_t at;

    for (size_t i = 0; i < sizeof(counter); i++)
        counter[i] = (uint8_t)((uint64_t)step >> (56 - 8 * i));
    if (HMAC(EVP_sha1(), key, TOTP_KEY_BYTES, counter, sizeof(counter), mac, &n) == NULL ||
        n != HMAC_BYTES)
        err_die("HMAC-SHA-1 is not available");
    at = mac[HMAC_BYTES - 1] & 15;
    number = (uint32_t)(mac[at] & 127) << 24 | (uint32_t)mac[at + 1] << 16 |
             (uint32_t)mac[at + 2] << 8 | mac[at + 3];
    (void)snprintf(ret, TOTP_DIGITS + 1, "%06u", (unsigned)(number % MILLION));
}

bool totp_match(const uint8_t key[TOTP_KEY_BYTES], struct str code, int64_t now_step,
                int64_t used_step, int64_t *ret_step)
{
    bool found = false;

    for (int64_t step = now_step - 1; step <= now_step + 1; step++) {
        char wanted[TOTP_DIGITS + 1];

        totp_code(key, step, wanted);
        if (digest_equal_text(code, str_from(wanted, TOTP_DIGITS)) && step > used_step) {
            *ret_step = step;
            found = true;
        }
    }
    return found;
}
