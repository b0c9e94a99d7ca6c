/* attempts.h - attempts to send one message to one webhook, all in one libcurl handle.
 *
 * One thread, the courier's, except where a comment says otherwise.
 */
#pragma once
#include <curl/curl.h>

#include "features/webhooks/formats.h"
#include "features/webhooks/store.h"
#include "features/webhooks/target.h"
#include "shape/shape.h"

/* The mail server; with an empty `url` no mail is sent. */
struct mail_options {
    const char *url; /* smtp://… or smtps://… */
    const char *from;
    const char *user;          /* empty: no authentication */
    const char *password_file; /* read for each mail, so that it can be changed */
};

/* Borrowed for as long as there are attempts. */
struct attempt_options {
    struct target_rules rules;
    struct mail_options mail;
    const char *public_url; /* of links in messages; NULL or empty: none */
};

struct attempt {
    struct attempt *next;
    struct arena arena; /* of everything below */
    struct delivery_row delivery;
    struct webhook_row webhook;
    char secrets[2][WEBHOOK_SECRET_LEN]; /* in the clear, wiped at the end */
    size_t n_secrets;
    void *owner;                 /* the courier's: its test, NULL for a delivery */
    const struct letter *letter; /* a mail that is no message of a webhook; NULL: none */

    CURL *easy;
    struct curl_slist *headers, *recipients;
    struct str body;
    size_t body_sent; /* of a mail */
    size_t reply_bytes;
    const struct attempt_options *options;
    bool probes;      /* connects to no address: they are checked first, all of them */
    bool probed;      /* the name has one */
    bool forbidden;   /* an address was not public */
    int64_t began_us; /* raw */
    char error[CURL_ERROR_SIZE];
};

/* The result of an attempt. */
struct attempt_end {
    bool delivered;
    bool gone;  /* the target asked for no further messages (410) */
    bool final; /* no further attempt */
    struct opt_int status;
    int64_t ms;
    int64_t retry_after_s; /* 0: not in the response */
    const char *error;     /* NULL when delivered; lives as long as the attempt */
};

/* Prepares a->easy from delivery, webhook and secrets. NULL, or a sentence that says why it cannot
 * be sent. Tests call it. */
const char *attempt_prepare(struct attempt *a, const struct attempt_options *options);

/* NULL is fine. */
void attempt_free(struct attempt *a);

struct attempts {
    struct attempt_options options;
    CURLM *multi;
    struct attempt *first; /* newest first */
    size_t n;              /* without tests, which have an owner */

    /* An attempt has ended and was removed from the list; the callee frees it. */
    void (*ended)(void *ctx, struct attempt *a, const struct attempt_end *end);
    void *ctx;
};

/* With options.rules, options.mail, ended and ctx set. */
void attempts_init(struct attempts *all);

/* The list must be empty. */
void attempts_done(struct attempts *all);

/* Takes ownership. It is being sent, or has ended, on return. */
void attempts_start(struct attempts *all, struct attempt *a);

/* Makes progress, or waits for it up to `wait_ms`. True when one has ended. */
bool attempts_advance(struct attempts *all, int wait_ms);

/* Interrupts the wait in attempts_advance(). Any thread. */
void attempts_wake(struct attempts *all);

/* Cancels an attempt and removes it from the list; NULL when none is left. The caller frees it. */
struct attempt *attempts_pop(struct attempts *all);

/* The newest attempt of this delivery, or NULL. */
struct attempt *attempts_find(const struct attempts *all, const struct delivery_row *delivery);

/* The number of a tenant's attempts, of those to one of its webhooks, and of its tests. */
struct attempts_count {
    size_t of_tenant, of_webhook, tests;
};
struct attempts_count attempts_count(const struct attempts *all, int64_t tenant_id,
                                     struct str webhook_id);
