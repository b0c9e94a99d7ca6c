/* attempt.h - one attempt to send one message to one webhook, by libcurl.
 *
 * One thread: the courier's.
 */
#pragma once
#include <curl/curl.h>

#include "features/webhooks/body.h"
#include "features/webhooks/deliveries_store.h"
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
    CURLM *multi;           /* woken when a name lookup is done */
};

/* attempts.c moves it on, and asserts that it goes forward. */
enum attempt_state {
    ATTEMPT_NEW,       /* being filled in */
    ATTEMPT_RESOLVING, /* prepared; waits for its name to be looked up, if it has one */
    ATTEMPT_SENDING,   /* libcurl has it */
    ATTEMPT_ENDED,     /* its result is known, or it was cancelled */
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
    struct curl_slist *headers, *recipients, *pinned;
    struct str body;
    size_t body_sent; /* of a mail */
    size_t reply_bytes;
    const struct attempt_options *options;
    struct target_endpoint endpoint;
    struct lookup *lookup; /* of the host name; NULL: no lookup needed */
    enum attempt_state state;
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

/* Prepares f->easy from delivery, webhook and secrets, and begins to look up its name. NULL, or a
 * sentence that says why it cannot be sent. */
const char *attempt_prepare(struct attempt *f, const struct attempt_options *options);

enum attempt_clearance { ATTEMPT_WAITS, ATTEMPT_CLEARED, ATTEMPT_REFUSED };

/* May it be sent? A name is looked up once, and only addresses of that answer are connected to: one
 * of them that is not public refuses them all. *ret_wrong says why it is refused. */
enum attempt_clearance attempt_clear(struct attempt *f, const char **ret_wrong);

struct attempt_end attempt_finish(struct attempt *f, CURLcode result);

/* NULL is fine. */
void attempt_free(struct attempt *f);
