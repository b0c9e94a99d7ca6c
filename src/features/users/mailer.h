/* mailer.h - mail about accounts. The feature that can send mail is above this one and registers
 * itself here. */
#pragma once
#include "base/err.h"
#include "base/str.h"

struct engine;

/* Owned by the caller, until done(). */
struct mail {
    struct str to, subject, text;
    int64_t tenant_id; /* whose share of sending it uses; 0: the platform's */

    /* Called exactly once, on another thread. `problem` is NULL when the mail server took it, else
     * a sentence, borrowed. */
    void (*done)(struct mail *mail, const char *problem);
};

/* Begins to send. ERR_BUSY when too many are pending: then done() is not called. */
typedef int mail_send_fn(struct engine *e, struct mail *mail, struct error *err);

/* In open() only. */
void users_set_mailer(struct engine *e, mail_send_fn *send);

/* NULL: no mail can be sent. Any thread. */
mail_send_fn *users_mailer(const struct engine *e);
