/* attempts.c - libcurl's handle of many transfers, and the list of attempts in it or before it. */
#include "features/webhooks/attempts.h"

#include <assert.h>

#include "base/thread.h"

/* The one place where the state of an attempt changes: it only goes forward. */
static void enter(struct attempt *f, enum attempt_state state)
{
    static const unsigned allowed[] = {
        [ATTEMPT_NEW] = 1U << ATTEMPT_RESOLVING | 1U << ATTEMPT_ENDED,
        [ATTEMPT_RESOLVING] = 1U << ATTEMPT_SENDING | 1U << ATTEMPT_ENDED,
        [ATTEMPT_SENDING] = 1U << ATTEMPT_ENDED,
        [ATTEMPT_ENDED] = 0,
    };

    assert((allowed[f->state] & 1U << state) != 0);
    (void)allowed; /* in release */
    f->state = state;
}

void attempts_init(struct attempts *all)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
        err_die("libcurl cannot be initialized");
    all->options.multi = curl_multi_init();
    if (all->options.multi == NULL)
        err_die("out of memory");
    all->first = NULL;
    all->n = 0;
}

void attempts_done(struct attempts *all)
{
    assert(all->first == NULL && all->n == 0);
    (void)curl_multi_cleanup(all->options.multi);
    curl_global_cleanup();
}

void attempts_start(struct attempts *all, struct attempt *f)
{
    const char *wrong = attempt_prepare(f, &all->options);

    assert(thread_may_be("muster-courier"));
    if (wrong != NULL) {
        enter(f, ATTEMPT_ENDED);
        all->ended(all->ctx, f, &(struct attempt_end){ .error = wrong });
        return;
    }
    enter(f, ATTEMPT_RESOLVING);
    f->next = all->first;
    all->first = f;
    all->n += f->owner == NULL;
}

static void detach(struct attempts *all, struct attempt *f)
{
    struct attempt **at = &all->first;

    while (*at != f)
        at = &(*at)->next;
    *at = f->next;
    assert(f->owner != NULL || all->n > 0);
    all->n -= f->owner == NULL;
    if (f->state == ATTEMPT_SENDING)
        (void)curl_multi_remove_handle(all->options.multi, f->easy);
    enter(f, ATTEMPT_ENDED);
}

/* Hands to libcurl what may be sent now. True when one has ended. */
static bool start_cleared(struct attempts *all)
{
    struct attempt *next;
    bool any = false;

    for (struct attempt *f = all->first; f != NULL; f = next) {
        const char *wrong = NULL;
        enum attempt_clearance clearance =
            f->state == ATTEMPT_SENDING ? ATTEMPT_WAITS : attempt_clear(f, &wrong);

        next = f->next;
        if (clearance == ATTEMPT_REFUSED) {
            detach(all, f);
            all->ended(all->ctx, f, &(struct attempt_end){ .error = wrong });
            any = true;
        } else if (clearance == ATTEMPT_CLEARED) {
            if (curl_multi_add_handle(all->options.multi, f->easy) != CURLM_OK)
                err_die("libcurl refused a transfer");
            enter(f, ATTEMPT_SENDING);
        }
    }
    return any;
}

/* True when one has ended. */
static bool take_finished(struct attempts *all)
{
    const CURLMsg *message;
    bool any = false;
    int left;

    while ((message = curl_multi_info_read(all->options.multi, &left)) != NULL) {
        CURLcode result = message->data.result;
        struct attempt_end end;
        struct attempt *f = all->first;

        while (message->msg == CURLMSG_DONE && f != NULL && f->easy != message->easy_handle)
            f = f->next;
        if (message->msg != CURLMSG_DONE || f == NULL)
            continue;
        end = attempt_finish(f, result);
        detach(all, f);
        all->ended(all->ctx, f, &end);
        any = true;
    }
    return any;
}

bool attempts_advance(struct attempts *all, int wait_ms)
{
    bool any = start_cleared(all);
    int running;

    assert(thread_may_be("muster-courier"));
    (void)curl_multi_perform(all->options.multi, &running);
    any = take_finished(all) || any;
    if (!any)
        (void)curl_multi_poll(all->options.multi, NULL, 0, wait_ms, NULL);
    return any;
}

void attempts_wake(struct attempts *all)
{
    (void)curl_multi_wakeup(all->options.multi);
}

struct attempt *attempts_pop(struct attempts *all)
{
    struct attempt *f = all->first;

    if (f != NULL)
        detach(all, f);
    return f;
}

struct attempt *attempts_find(const struct attempts *all, const struct delivery_row *delivery)
{
    struct attempt *f = all->first;

    while (f != NULL && (f->owner != NULL || f->delivery.tenant_id != delivery->tenant_id ||
                         !str_eq(f->delivery.delivery_id, delivery->delivery_id)))
        f = f->next;
    return f;
}

struct attempts_count attempts_count(const struct attempts *all, int64_t tenant_id,
                                     struct str webhook_id)
{
    struct attempts_count count = { 0 };

    for (const struct attempt *f = all->first; f != NULL; f = f->next) {
        if (f->webhook.tenant_id != tenant_id)
            continue;
        count.tests += f->owner != NULL;
        count.of_tenant += f->owner == NULL;
        count.of_webhook += f->owner == NULL && str_eq(f->webhook.webhook_id, webhook_id);
    }
    return count;
}
