/* formats.h - a message as people read it, a notice: what happened, where, why, and what to do. And
 * a notice as it is sent: the JSON that each service documents, or a mail; and signed.
 *
 * What agents wrote is never markup: it goes into fields that the service shows
 * as they are, or is escaped, and it is cut: sizes stay below the service's
 * limits, which formats.c names.
 *
 * Thread-safe: pure functions. Results are in the arena.
 */
#pragma once
#include "base/arena.h"

struct message_row;

/* Bytes of the texts below. */
enum { NOTICE_TEXT_MAX = 1000, NOTICE_NAME_MAX = 256, NOTICE_LINK_MAX = 2000 };

/* Where the message comes from. */
struct notice_place {
    struct str workspace;   /* slug */
    const char *public_url; /* of the portal; NULL or empty: unknown, so there are no links */
};

struct notice {
    const struct message_row *message;
    struct str workspace;
    struct str summary;            /* a sentence, or the message type */
    struct str agent_name, run_id; /* null: not about one */
    struct str error;              /* null: none */
    struct str link;               /* null: unknown */
    struct str alert_id;           /* null: of a test */
    struct str name;               /* of what is wrong, the same when it is over: "AgentSilent" */
    struct str severity;           /* error, warning or info */
    struct str next_step;          /* a sentence */
    bool recovered;                /* it says that something is over */
    bool lasts;                    /* until a message says that it is over */
    int64_t opened_at, closed_at;  /* closed_at: TIME_NULL */
};

/* Borrows the message; the rest is in the arena. */
struct notice notice_of(const struct message_row *message, const struct notice_place *place,
                        struct arena *arena);

/* The body of a request for a webhook of this format (enum webhook_format) and URL. */
struct str format_body(const struct notice *notice, int format, struct str url,
                       struct arena *arena);

/* A mail to a person. */
struct letter {
    struct str to, subject, text, message_id;
    int64_t at;
};

/* A mail with its headers; lines end in CR LF. */
struct str format_letter(const struct letter *letter, struct str from, struct arena *arena);
struct str format_mail(const struct notice *notice, struct str from, struct str to,
                       struct arena *arena);

/* "whsec_" and the base64 of a fresh random key, NUL-terminated. */
enum { WEBHOOK_SECRET_LEN = 6 + 32 };
void webhook_secret_make(char ret[WEBHOOK_SECRET_LEN + 1]);

/* The value of webhook-signature: one per secret ("whsec_…"), separated by spaces. STR_NULL when a
 * secret is malformed: nothing must be sent with a signature that others could make. */
struct str webhook_signature(const struct str *secrets, size_t n, struct str message_id,
                             int64_t timestamp_s, struct str body, struct arena *arena);
