/* totp.h - time-based one-time passwords (RFC 6238): SHA-1, 6 digits, steps of 30 seconds, as every
 * authenticator app knows them.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"
#include "base/str.h"

enum { TOTP_KEY_BYTES = 20, TOTP_KEY_CHARS = 32, TOTP_DIGITS = 6, TOTP_STEP_S = 30 };

/* A fresh random key. */
void totp_make_key(uint8_t ret[TOTP_KEY_BYTES]);

/* The key in base32, NUL-terminated. */
void totp_key_text(const uint8_t key[TOTP_KEY_BYTES], char ret[TOTP_KEY_CHARS + 1]);

/* The step at this wall clock. */
int64_t totp_step(int64_t wall_us);

/* The digits of a step, NUL-terminated. */
void totp_code(const uint8_t key[TOTP_KEY_BYTES], int64_t step, char ret[TOTP_DIGITS + 1]);

/* Is it the code of a step next to `now_step`, in either direction, that is after `used_step`?
 * Takes equally long whatever the code. */
bool totp_match(const uint8_t key[TOTP_KEY_BYTES], struct str code, int64_t now_step,
                int64_t used_step, int64_t *ret_step);
