/* forgot.c - queues of password reset requests, and of the mails that answer them. */
#include "features/users/links/links.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/settings.h"
#include "engine/engine.h"
#include "features/access/auth.h"
#include "features/access/sessions.h"
#include "features/users/accounts.h"
#include "features/users/mailer.h"
#include "features/users/routes.h"
#include "features/users/shapes.h"
#include "features/users/throttle.h"
#include "features/users/users.h"

/* The sender refuses what is over its share: half of that is left to mails of admins. */
enum { HELD_MAX = 256, MAILS_MAX = 256, SENDING_MAX = 2 };

struct forgot_mail {
    struct forgot_mail *next;
    struct mail mail;
    struct forgot *forgot;
    char *to, *text, *link_id;
};

struct forgot {
    struct throttle *asked; /* every request counts as a failure of its address */
    struct lock lock;
    struct api_call *held[HELD_MAX] GUARDED_BY(lock);
    size_t n_held GUARDED_BY(lock);
    struct forgot_mail *mails GUARDED_BY(lock), **last GUARDED_BY(lock); /* oldest first */
    size_t n_mails GUARDED_BY(lock);
    size_t n_sending GUARDED_BY(lock); /* handed over, and not done */
    bool stopping GUARDED_BY(lock);
};

struct forgot *forgot_new(void)
{
    struct forgot *f = NEW(struct forgot);

    lock_init(&f->lock);
    f->last = &f->mails;
    f->asked = throttle_new();
    return f;
}

static void mail_free(struct forgot_mail *m)
{
    free(m->text);
    free(m->to);
    free(m->link_id);
    free(m);
}

static void drop_mail(struct forgot_mail *m, const char *why)
{
    log_write(LOG_WARNING, "mail", "reset link %s was not sent: %s", m->link_id, why);
    mail_free(m);
}

void forgot_free(struct forgot *f)
{
    if (f == NULL)
        return;
    lock_unshared(&f->lock);
    assert(f->n_held == 0);    /* a call that is never answered */
    assert(f->n_sending == 0); /* the sender ends before */
    for (struct forgot_mail *m = f->mails, *next; m != NULL; m = next) {
        next = m->next;
        drop_mail(m, "the service stopped");
    }
    throttle_free(f->asked);
    lock_done(&f->lock);
    free(f);
}

bool forgot_is_possible(const struct engine *e)
{
    return users_mailer(e) != NULL && engine_settings(e)->public_url[0] != '\0';
}

/* May this address ask? 0: yes, and it counts. Else the seconds to wait. */
static int64_t forgot_admit(struct forgot *f, const struct address *from)
{
    /* apart from failed sign-ins: those who failed too often may still ask */
    struct throttle_attempt attempt = { .account = STR_LIT("forgot"),
                                        .from = *from,
                                        .known = true };
    const int64_t now = clock_mono_us();
    const int64_t wait_s = throttle_begin(f->asked, &attempt, now);

    if (wait_s == 0)
        throttle_end(f->asked, &attempt, now, ATTEMPT_FAILED);
    return wait_s;
}

/* Replies to the call at the next tick. False when too many are held, or after forgot_stop(): the
 * caller must reply. */
static bool forgot_hold(struct forgot *f, struct api_call *call)
{
    bool room;

    lock_acquire(&f->lock);
    room = f->n_held < HELD_MAX && !f->stopping;
    if (room)
        f->held[f->n_held++] = call;
    lock_release(&f->lock);
    return room;
}

static void mail_done(struct mail *mail, const char *problem)
{
    struct forgot_mail *m = CONTAINER_OF(mail, struct forgot_mail, mail);
    struct forgot *f = m->forgot;

    lock_acquire(&f->lock);
    assert(f->n_sending > 0);
    f->n_sending--;
    lock_release(&f->lock);
    if (problem != NULL)
        drop_mail(m, problem);
    else
        mail_free(m);
}

/* A mail to send, from the next tick on until the mail server takes it or refuses it; copied, and
 * so the texts end with a NUL. It is dropped when too many wait. `link_id` is for the log. */
static void forgot_post(struct forgot *f, struct str to, struct str text, struct str link_id)
{
    struct forgot_mail *m = NEW(struct forgot_mail);
    bool room;

    m->forgot = f;
    m->to = mem_strdup(to.data);
    m->text = mem_strdup(text.data);
    m->link_id = mem_strdup(link_id.data);
    m->mail = (struct mail){ .to = str_of(m->to),
                             .subject = STR_LIT("Choose a new password for muster"),
                             .text = str_of(m->text),
                             .done = mail_done };
    lock_acquire(&f->lock);
    room = f->n_mails < MAILS_MAX;
    if (room) {
        *f->last = m;
        f->last = &m->next;
        f->n_mails++;
    }
    lock_release(&f->lock);
    if (!room)
        drop_mail(m, "too many mails wait to be sent");
}

/* Takes the oldest mail to send it. NULL: the queue is empty, or SENDING_MAX mails are being
 * sent. */
static struct forgot_mail *take_mail(struct forgot *f)
{
    struct forgot_mail *m = NULL;

    lock_acquire(&f->lock);
    if (f->n_sending < SENDING_MAX)
        m = f->mails;
    if (m != NULL) {
        f->mails = m->next;
        if (f->mails == NULL)
            f->last = &f->mails;
        f->n_mails--;
        f->n_sending++;
    }
    lock_release(&f->lock);
    return m;
}

/* The sender is busy: it is tried again at the next tick. */
static void put_back(struct forgot *f, struct forgot_mail *m)
{
    lock_acquire(&f->lock);
    m->next = f->mails;
    if (f->mails == NULL)
        f->last = &m->next;
    f->mails = m;
    f->n_mails++;
    f->n_sending--;
    lock_release(&f->lock);
}

static void send_mails(struct forgot *f, struct engine *e)
{
    struct forgot_mail *m;

    while ((m = take_mail(f)) != NULL)
        if (users_mailer(e)(e, &m->mail, NULL) != 0) { /* there is one: forgot_is_possible() */
            put_back(f, m);
            return;
        }
}

static void answer_held(struct forgot *f)
{
    struct api_call *held[HELD_MAX];
    size_t n;

    lock_acquire(&f->lock);
    n = f->n_held;
    memcpy((void *)held, (const void *)f->held, n * sizeof(held[0]));
    f->n_held = 0;
    lock_release(&f->lock);
    for (size_t i = 0; i < n; i++)
        call_reply(held[i], NULL);
}

void forgot_tick(struct forgot *f, struct engine *e)
{
    answer_held(f);
    send_mails(f, e);
}

void forgot_stop(struct forgot *f)
{
    lock_acquire(&f->lock);
    f->stopping = true;
    lock_release(&f->lock);
    answer_held(f);
}

/* State between the steps. */
struct forgot_step {
    struct user_row user;
    struct link_made made;
};

static int enter_request(struct api_call *call, struct db *db, struct error *err)
{
    const struct forgot_step *step = call->own;
    const bool known = !str_is_null(step->user.user_id);

    if (!str_is_null(step->made.mailed))
        call->audit_detail =
            arena_printf(call->arena, "{\"link_id\":\"%.*s\"}", STR_ARG(step->made.row.link_id));
    else if (known && step->user.password.len == 0)
        call->audit_detail = STR_LIT("{\"reason\":\"no password\"}");
    else if (known)
        call->audit_detail = STR_LIT("{\"reason\":\"limit\"}");
    return accounts_audit_row(call, db, &step->user, "reset.ask", err);
}

/* On the writer. */
static int ask(struct api_call *call, struct db *db, struct error *err)
{
    const struct forgot_request *body = call->body;
    struct forgot_step *step = call->own;

    if (links_ask(db, body->email, call->arena, &step->user, &step->made, err) != 0)
        return -1;
    return enter_request(call, db, err);
}

static void post_link(struct api_call *call, const struct forgot_step *step)
{
    const struct engine *e = call->api->engine;
    const struct str text = arena_printf(
        call->arena,
        "A new password was asked for, for your account at %s.\r\n"
        "Choose one within an hour:\r\n\r\n%s/#/link?token=%.*s\r\n\r\n"
        "The link works once. If you did not ask, ignore this mail: your password "
        "is unchanged.\r\n",
        engine_settings(e)->public_url, engine_settings(e)->public_url, STR_ARG(step->made.mailed));

    forgot_post(users_forgot(e), step->user.email, text, step->made.row.link_id);
}

static void asked(struct api_call *call, const struct error *err)
{
    const struct forgot_step *step = call->own;
    const struct error busy = { .code = ERR_BUSY };

    if (err != NULL) {
        call_reply(call, err);
        return;
    }
    if (!str_is_null(step->made.mailed))
        post_link(call, step);
    if (!forgot_hold(users_forgot(call->api->engine), call))
        call_reply(call, &busy);
}

static int begin_ask(struct api_call *call, struct error *err)
{
    struct forgot_answer *answer = call->answer;
    const struct address from = auth_address(call);
    const struct engine *e = call->api->engine;
    int64_t wait_s;

    if (session_check_origin(call, err) != 0)
        return -1;
    if (engine_settings(e)->password_sign_in == 0)
        return call_refuse(call, err, 409, "Sign-in with a password is switched off here");
    if (!forgot_is_possible(e))
        return call_refuse(
            call, err, 409,
            "This service cannot send e-mail: ask a platform admin or the operator of "
            "the service for a reset link");
    wait_s = forgot_admit(users_forgot(e), &from);
    if (wait_s > 0) {
        call->rate.reset_s = wait_s;
        return call_refuse(call, err, 429, "Too many requests from this address; wait");
    }
    answer->status = STR_LIT("ok");
    call->own = ARENA_NEW(call->arena, struct forgot_step);
    call_change(call, CHANGE_NOTHING, ask, asked);
    return 0;
}

/* clang-format off */
const struct route forgot_routes[] = {
    { ROUTE(POST, "/api/v1/auth/forgot", OPEN, 202), .handler = begin_ask, .also = ALSO_CONFLICT, .body = &forgot_request_shape, .answer = &forgot_answer_shape,
      .id = "forgot_password", .summary = "Ask for a reset link by e-mail",
      .description = "The answer is the same whether there is such a user or not. A user is sent a link with which to choose a new password, once, within an hour; a second factor is still asked for at sign-in. At most three mails per user in an hour, and one after five in 24 hours; ten requests per address in 15 minutes: then 429. 409 when the service cannot send e-mail; `GET /api/v1/auth/setup` says so in advance." },
    { 0 },
};
/* clang-format on */
