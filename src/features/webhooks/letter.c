/* letter.c - hands mail about accounts to the courier. */
#include "features/webhooks/letter.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "features/webhooks/courier.h"
#include "features/webhooks/webhooks.h"

enum { ID_DIGITS = 24 };

struct letter_job {
    struct courier_test test;
    struct letter letter;
    char id[ID_DIGITS + sizeof("msg_")];
    struct mail *mail;
};

static void letter_sent(struct courier_test *test, const struct attempt_end *end,
                        const struct error *err)
{
    struct letter_job *job = CONTAINER_OF(test, struct letter_job, test);
    const char *problem = err != NULL ? err->text : end->error;

    job->mail->done(job->mail, problem);
    free(job);
}

int letter_send(struct engine *e, struct mail *mail, struct error *err)
{
    struct courier *courier = webhooks_courier(e, err);
    struct letter_job *job;
    char digits[ID_DIGITS];

    if (courier == NULL)
        return -1;
    job = NEW(struct letter_job);
    digest_random_base62(digits, ID_DIGITS);
    (void)snprintf(job->id, sizeof(job->id), "msg_%.*s", ID_DIGITS, digits);
    job->mail = mail;
    job->letter = (struct letter){ .to = mail->to,
                                   .subject = mail->subject,
                                   .text = mail->text,
                                   .message_id = str_of(job->id),
                                   .at = clock_wall_us() };
    job->test = (struct courier_test){ .tenant_id = mail->tenant_id,
                                       .webhook_id = STR_LIT(""),
                                       .letter = &job->letter,
                                       .done = letter_sent };
    if (courier_submit(courier, &job->test, err) == 0)
        return 0;
    free(job);
    return -1;
}
