/* letter.h - mail about accounts, sent at once by the courier and stored nowhere: it has secrets.
 */
#pragma once
#include "features/access/mailer.h"

/* A mail_send_fn. */
int letter_send(struct engine *e, struct mail *mail, struct error *err) MUST_CHECK;
