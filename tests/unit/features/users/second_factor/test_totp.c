/* test_totp.c - the test vectors of RFC 6238 and RFC 4648, and what a code is good for. */
#include "features/users/second_factor/factor.h"

#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "test.h"

static const uint8_t key[TOTP_KEY_BYTES] = "12345678901234567890";

TEST(codes_are_those_of_the_standard)
{
    static const struct {
        int64_t at_s;
        const char *code;
    } rows[] = {
        { 59, "287082" },         { 1111111109, "081804" }, { 1111111111, "050471" },
        { 1234567890, "005924" }, { 2000000000, "279037" }, { 20000000000, "353130" },
    };
    char code[TOTP_DIGITS + 1];

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        totp_code(key, totp_step(rows[i].at_s * USEC_PER_SEC), code);
        assert_string_equal(code, rows[i].code);
    }
}

TEST(a_key_is_shown_in_base32)
{
    char text[TOTP_KEY_CHARS + 1];

    totp_key_text(key, text);
    assert_string_equal(text, "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
}

TEST(a_code_is_good_one_step_early_or_late_and_only_after_the_last_one)
{
    char code[TOTP_DIGITS + 1];
    int64_t step = 0;

    digest_init();
    totp_code(key, 1000, code);
    for (int64_t now = 997; now <= 1003; now++)
        CHECK(totp_match(key, str_of(code), now, 0, &step) == (now >= 999 && now <= 1001));
    CHECK(step == 1000);
    CHECK(totp_match(key, str_of(code), 1000, 999, &step));
    CHECK(!totp_match(key, str_of(code), 1000, 1000, &step)); /* used */
    CHECK(!totp_match(key, str_of(code), 1000, 1001, &step)); /* a later one was used */
    CHECK(!totp_match(key, STR_LIT("000000"), 1000, 0, &step));
    CHECK(!totp_match(key, STR_LIT(""), 1000, 0, &step));
    CHECK(!totp_match(key, STR_LIT("0000000000000000"), 1000, 0, &step));
}
