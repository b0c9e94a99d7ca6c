/* forgot.c - requests for reset links that wait for their answer, and their mails. */
#include "features/users/links/forgot.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/settings.h"
#include "engine/engine.h"
#include "features/users/mailer.h"
#include "features/users/throttle.h"

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
    struct forgot_mail *mails GUARDED_BY(lock); /* newest first */
    size_t n_mails GUARDED_BY(lock);
    size_t n_sending GUARDED_BY(lock); /* handed over, and not done */
    bool stopping GUARDED_BY(lock);
};

struct forgot *forgot_new(void)
{
    struct forgot *f = NEW(struct forgot);

    lock_init(&f->lock);
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

int64_t forgot_admit(struct forgot *f, const struct address *from)
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

bool forgot_hold(struct forgot *f, struct api_call *call)
{
    bool room;

    lock_acquire(&f->lock);
    room = f->n_held < HELD_MAX && !f->stopping;
    if (room)
        f->held[f->n_held++] = call;
    lock_release(&f->lock);
    return room;
}

static char *copy_of(struct str text)
{
    char *copy = mem_alloc(text.len + 1);

    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    return copy;
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

void forgot_post(struct forgot *f, struct str to, struct str text, struct str link_id)
{
    struct forgot_mail *m = NEW(struct forgot_mail);
    bool room;

    m->forgot = f;
    m->to = copy_of(to);
    m->text = copy_of(text);
    m->link_id = copy_of(link_id);
    m->mail = (struct mail){ .to = str_of(m->to),
                             .subject = STR_LIT("Choose a new password for muster"),
                             .text = str_of(m->text),
                             .done = mail_done };
    lock_acquire(&f->lock);
    room = f->n_mails < MAILS_MAX;
    if (room) {
        m->next = f->mails;
        f->mails = m;
        f->n_mails++;
    }
    lock_release(&f->lock);
    if (!room)
        drop_mail(m, "too many mails wait to be sent");
}

/* Takes all mails, oldest first. */
static struct forgot_mail *take_mails(struct forgot *f)
{
    struct forgot_mail *newest, *oldest = NULL;

    lock_acquire(&f->lock);
    newest = f->mails;
    f->mails = NULL;
    f->n_mails = 0;
    lock_release(&f->lock);
    while (newest != NULL) {
        struct forgot_mail *next = newest->next;

        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    return oldest;
}

/* Mails that the sender refused because it is busy: they are tried again at the next tick. */
static void put_back(struct forgot *f, struct forgot_mail *oldest)
{
    lock_acquire(&f->lock);
    while (oldest != NULL) {
        struct forgot_mail *next = oldest->next;

        oldest->next = f->mails;
        f->mails = oldest;
        f->n_mails++;
        oldest = next;
    }
    lock_release(&f->lock);
}

static bool begin_sending(struct forgot *f)
{
    bool room;

    lock_acquire(&f->lock);
    room = f->n_sending < SENDING_MAX;
    if (room)
        f->n_sending++;
    lock_release(&f->lock);
    return room;
}

static void cancel_sending(struct forgot *f)
{
    lock_acquire(&f->lock);
    f->n_sending--;
    lock_release(&f->lock);
}

/* Those that are over the share wait for a later tick. */
static void send_mails(struct forgot *f, struct engine *e)
{
    mail_send_fn *send = users_mailer(e);
    struct forgot_mail *m = take_mails(f);

    assert(m == NULL || send != NULL); /* forgot_is_possible() */
    while (m != NULL && begin_sending(f)) {
        struct forgot_mail *next = m->next; /* a mail that is sent may be freed at once */

        if (send(e, &m->mail, NULL) != 0) {
            cancel_sending(f);
            break;
        }
        m = next;
    }
    put_back(f, m);
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
