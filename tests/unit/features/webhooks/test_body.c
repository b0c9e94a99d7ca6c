/* test_body.c - what receivers read and check. */
#include "features/webhooks/body.h"

#include "base/digest.h"
#include "features/webhooks/deliveries_store.h"
#include "test.h"

static const struct message_row message = {
    .message_id = STR_INIT("msg_1"),
    .type = STR_INIT("agent.silent"),
    .created_at = 1767323045000000,
    .data =
        STR_INIT("{\"agent_name\":\"a\",\"summary\":\"Agent <a> & co is silent \xe2\x82\xac\"}"),
};

/* The example of the specification. */
TEST(a_signature_is_as_the_specification_says)
{
    static const struct str secret = STR_INIT("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    struct arena arena;

    digest_init();
    arena_init(&arena);
    CHECK_STR(webhook_signature(&secret, 1, STR_LIT("msg_p5jXN8AQM9LWM0D4loKWxJek"), 1614265330,
                                STR_LIT("{\"test\": 2432232314}"), &arena),
              "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    arena_done(&arena);
}

TEST(two_secrets_give_two_signatures_separated_by_a_blank)
{
    static const struct str secrets[] = { STR_INIT("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
                                          STR_INIT("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA") };
    struct str both, rest, first, second;
    struct arena arena;

    digest_init();
    arena_init(&arena);
    both = rest = webhook_signature(secrets, 2, STR_LIT("msg_1"), 1, STR_LIT("{}"), &arena);
    first = str_split(&rest, ' ');
    second = rest;
    CHECK(str_starts(both, STR_LIT("v1,")) && str_starts(second, STR_LIT("v1,")));
    CHECK_INT(first.len, second.len);
    CHECK(!str_eq(first, second));
    arena_done(&arena);
}

TEST(a_malformed_secret_gives_no_signature)
{
    static const char *const malformed[] = {
        "",
        "whsec_",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwwhsec_",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa==",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwAAAA",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS!",
    };
    struct arena arena;

    digest_init();
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(malformed); i++) {
        const struct str secrets[] = { STR_INIT("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
                                       str_of(malformed[i]) };

        CHECK(str_is_null(
            webhook_signature(&secrets[1], 1, STR_LIT("msg_1"), 1, STR_LIT("{}"), &arena)));
        CHECK(
            str_is_null(webhook_signature(secrets, 2, STR_LIT("msg_1"), 1, STR_LIT("{}"), &arena)));
    }
    arena_done(&arena);
}

TEST(secrets_are_fresh_and_of_the_expected_form)
{
    char one[WEBHOOK_SECRET_LEN + 1], other[WEBHOOK_SECRET_LEN + 1];

    digest_init();
    webhook_secret_make(one);
    webhook_secret_make(other);
    CHECK(strncmp(one, "whsec_", 6) == 0);
    CHECK_INT(strlen(one), WEBHOOK_SECRET_LEN);
    CHECK(strcmp(one, other) != 0);
}

TEST(a_body_has_type_time_and_data)
{
    struct arena arena;

    arena_init(&arena);
    CHECK_STR(webhook_body(&message, &arena),
              "{\"type\":\"agent.silent\",\"timestamp\":\"2026-01-02T03:04:05Z\",\"data\":"
              "{\"agent_name\":\"a\",\"summary\":\"Agent <a> & co is silent \xe2\x82\xac\"}}");
    arena_done(&arena);
}

TEST(slack_is_told_the_sentence_without_markup)
{
    struct arena arena;

    arena_init(&arena);
    CHECK_STR(webhook_body_slack(&message, &arena),
              "{\"text\":\"Agent &lt;a&gt; &amp; co is silent \xe2\x82\xac\"}");
    arena_done(&arena);
}

TEST(a_mail_has_no_line_that_an_agent_wrote)
{
    struct message_row evil = message;
    struct str mail, rest;
    struct arena arena;

    arena_init(&arena);
    evil.data =
        STR_LIT("{\"summary\":\"hello\\r\\nBcc: everybody@example.com\\r\\n\\r\\n.\\r\\n\"}");
    mail = rest =
        webhook_body_mail(&evil, STR_LIT("muster@example.com"), STR_LIT("ops@example.com"), &arena);
    while (!str_is_null(rest)) {
        struct str line = str_split(&rest, '\n');

        CHECK(!str_starts(line, STR_LIT("Bcc")) && !str_starts(line, STR_LIT(".")));
        CHECK(line.len <= 78);
        CHECK(str_is_null(rest) || line.data[line.len - 1] == '\r');
    }
    CHECK(str_starts(mail, STR_LIT("From: muster <muster@example.com>\r\nTo: <ops@example.com>\r\n"
                                   "Date: Fri, 02 Jan 2026 03:04:05 +0000\r\n")));
    arena_done(&arena);
}
