/* test_formats.c - what receivers read and check. */
#include "features/webhooks/formats.h"

#include "base/digest.h"
#include "features/webhooks/shapes.h"
#include "features/webhooks/store.h"
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

static const struct notice_place here = { STR_INIT("acme"), "https://muster.example.com/" };

TEST(a_body_has_type_time_and_data_with_workspace_link_and_next_step)
{
    struct notice notice;
    struct arena arena;

    arena_init(&arena);
    notice = notice_of(&message, &here, &arena);
    CHECK_STR(format_body(&notice, WEBHOOK_STANDARD, STR_NULL, &arena),
              "{\"type\":\"agent.silent\",\"timestamp\":\"2026-01-02T03:04:05Z\",\"data\":"
              "{\"workspace\":\"acme\",\"link\":\"https://muster.example.com/#/t/acme/agents/a\","
              "\"next_step\":\"Check that the agent's process runs and can reach this service.\","
              "\"agent_name\":\"a\",\"summary\":\"Agent <a> & co is silent \xe2\x82\xac\"}}");
    arena_done(&arena);
}

TEST(a_link_leads_to_the_page_and_is_left_out_if_the_portal_is_unknown_or_it_is_too_long)
{
    struct message_row about = message;
    struct arena arena;
    char name[1024];

    arena_init(&arena);
    about.data = STR_LIT("{\"summary\":\"s\",\"agent_name\":\"a/b c\xc3\xbc\"}");
    CHECK_STR(notice_of(&about, &here, &arena).link,
              "https://muster.example.com/#/t/acme/agents/a%2Fb%20c%C3%BC");
    about.data = STR_LIT("{\"summary\":\"s\",\"agent_name\":\"a\",\"run_id\":\"r-1\"}");
    CHECK_STR(notice_of(&about, &here, &arena).link,
              "https://muster.example.com/#/t/acme/runs/r-1");
    CHECK(
        str_is_null(notice_of(&about, &(struct notice_place){ STR_LIT("acme"), "" }, &arena).link));
    CHECK(str_is_null(
        notice_of(&about, &(struct notice_place){ STR_LIT("acme"), NULL }, &arena).link));
    memset(name, ' ', sizeof(name));
    about.data = arena_printf(&arena, "{\"agent_name\":\"%.*s\"}", (int)sizeof(name), name);
    CHECK(str_is_null(notice_of(&about, &here, &arena).link));
    CHECK_INT(notice_of(&about, &here, &arena).agent_name.len, NOTICE_NAME_MAX);
    CHECK_STR(notice_of(&about, &here, &arena).summary, "agent.silent");
    arena_done(&arena);
}

/* Whatever the end of a matter is called, receivers that keep incidents resolve it. */
TEST(a_message_says_whether_its_matter_lasts_or_is_over)
{
    static const struct {
        const char *type;
        bool lasts, recovered;
    } rows[] = {
        { "agent.silent", true, false },    { "agent.recovered", false, true },
        { "run.failed", false, false },     { "agent.failing", true, false },
        { "agent.healthy", false, true },   { "budget.forecast", true, false },
        { "budget.on_track", false, true }, { "duration.recovered", false, true },
        { "test", false, false },
    };
    struct arena arena;

    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct message_row row = { .type = str_of(rows[i].type), .data = STR_LIT("{}") };
        const struct notice_place place = { .workspace = STR_LIT("acme") };
        const struct notice notice = notice_of(&row, &place, &arena);

        CHECK_INT(notice.lasts, rows[i].lasts);
        CHECK_INT(notice.recovered, rows[i].recovered);
    }
    arena_done(&arena);
}
