/* test_attempts.c - what is checked before an attempt is sent. */
#include "features/webhooks/attempts.h"

#include "base/digest.h"
#include "base/mem.h"
#include "features/webhooks/shapes.h"
#include "test.h"

static const struct attempt_options options = { .rules = { .allow_private = true } };

static struct attempt *make_attempt(const char *secret)
{
    struct attempt *f = NEW(struct attempt);

    digest_init();
    arena_init(&f->arena);
    f->webhook.url = STR_LIT("https://127.0.0.1/hook");
    f->webhook.format = WEBHOOK_STANDARD;
    f->delivery.message.message_id = STR_LIT("msg_1");
    f->delivery.message.type = STR_LIT("webhook.test");
    f->delivery.message.data = STR_LIT("{}");
    memcpy(f->secrets[f->n_secrets++], secret, WEBHOOK_SECRET_LEN);
    return f;
}

TEST(an_attempt_with_a_malformed_secret_fails)
{
    struct attempt *f = make_attempt("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa==");
    const char *wrong = attempt_prepare(f, &options);

    CHECK(wrong != NULL);
    CHECK_STR(str_of(wrong), "stored webhook secret is malformed");
    CHECK(f->headers == NULL);
    attempt_free(f);
}
