/* body.h - a message as it is sent: its bytes, and the signature over them.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "base/arena.h"

struct notice;

/* A mail to a person. */
struct letter {
    struct str to, subject, text, message_id;
    int64_t at;
};

/* "whsec_" and the base64 of a fresh random key, NUL-terminated. */
enum { WEBHOOK_SECRET_LEN = 6 + 32 };
void webhook_secret_make(char ret[WEBHOOK_SECRET_LEN + 1]);

/* The JSON of the Standard Webhooks form: type, timestamp, data. To the data it adds workspace,
 * link and next_step. In the arena, as all below. */
struct str webhook_body(const struct notice *notice, struct arena *arena);

/* A mail with its headers; lines end in CR LF. */
struct str webhook_body_mail(const struct notice *notice, struct str from, struct str to,
                             struct arena *arena);

struct str webhook_body_letter(const struct letter *letter, struct str from, struct arena *arena);

/* The value of webhook-signature: one per secret ("whsec_…"), separated by spaces. STR_NULL when a
 * secret is malformed: nothing must be sent with a signature that others could make. */
struct str webhook_signature(const struct str *secrets, size_t n, struct str message_id,
                             int64_t timestamp_s, struct str body, struct arena *arena);
