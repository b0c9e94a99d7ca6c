/* forgot.h - people who forgot their password and ask for a reset link themselves.
 *
 * Anyone can ask for any e-mail address, so the answer must say nothing: it is
 * always the same, and it is not given when the work is done, but at the next tick,
 * together with those of others. Mail is sent from there too.
 *
 * Bounded: requests per address (of the network) and window, requests that wait
 * for their answer, mails that wait to be sent, mails being sent. How many links an account gets is
 * bounded in the database (links_ask()).
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/address.h"
#include "base/str.h"

struct api_call;
struct engine;
struct forgot;

/* Any thread. */
struct forgot *users_forgot(const struct engine *e);

struct forgot *forgot_new(void);

/* No call may be held, and no mail be with the sender. NULL is fine. */
void forgot_free(struct forgot *f);

/* Can a link be sent at all: is there a mail server, and an address to name in a mail? */
bool forgot_is_possible(const struct engine *e);

/* Answers the calls that are held, and begins to send mails: few at a time, the oldest first. */
void forgot_tick(struct forgot *f, struct engine *e);

/* Answers the calls that are held, and holds none from now on. No tick may follow; mails that still
 * wait are named in the log when it is freed. */
void forgot_stop(struct forgot *f);
