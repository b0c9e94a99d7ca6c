/* test_token.c - tokens are well-formed when made, and no longer after any change. */
#include "base/digest.h"
#include "features/access/auth.h"
#include "test.h"

enum { TOKENS = 100000, THOROUGH = 20 };

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

static enum token_kind kind_of(int i)
{
    static const enum token_kind kinds[] = { TOKEN_WORKSPACE, TOKEN_AGENT, TOKEN_READ_ONLY };

    return kinds[(size_t)i % COUNT_OF(kinds)];
}

static const char *prefix_of(enum token_kind kind)
{
    if (kind == TOKEN_AGENT)
        return "mst_ag_";
    return kind == TOKEN_READ_ONLY ? "mst_ro_" : "mst_ws_";
}

TEST(every_token_is_well_formed_and_none_after_a_typo)
{
    char token[TOKEN_LEN + 1], last[TOKEN_LEN + 1] = "";

    for (int i = 0; i < TOKENS; i++) {
        uint32_t at = digest_random_below(TOKEN_LEN);
        char was, digit = digits[digest_random_below(sizeof(digits) - 1)];

        token_make(kind_of(i), token);
        CHECK_INT(strlen(token), TOKEN_LEN);
        CHECK(strncmp(token, prefix_of(kind_of(i)), 7) == 0);
        CHECK(token_is_well_formed(str_of(token)));
        CHECK(strcmp(token, last) != 0);
        memcpy(last, token, sizeof(last));
        was = token[at];
        token[at] = digit;
        CHECK(token_is_well_formed(str_of(token)) == (digit == was));
    }
}

TEST(no_other_byte_at_any_place_is_well_formed)
{
    char token[TOKEN_LEN + 1];

    for (int i = 0; i < THOROUGH; i++) {
        token_make(kind_of(i), token);
        for (size_t at = 0; at < TOKEN_LEN; at++) {
            char was = token[at];

            for (int byte = 0; byte < 256; byte++) {
                token[at] = (char)byte;
                CHECK(token_is_well_formed(str_from(token, TOKEN_LEN)) == ((char)byte == was));
            }
            token[at] = was;
        }
    }
}

TEST(other_lengths_other_kinds_and_swapped_digits_are_not_well_formed)
{
    char token[TOKEN_LEN + 2];

    for (int i = 0; i < 1000; i++) {
        token_make(TOKEN_WORKSPACE, token);
        for (size_t len = 0; len < TOKEN_LEN; len++)
            CHECK(!token_is_well_formed(str_from(token, len)));
        token[TOKEN_LEN] = 'x';
        CHECK(!token_is_well_formed(str_from(token, TOKEN_LEN + 1)));
        memcpy(token, "mst_ag_", 7);
        CHECK(!token_is_well_formed(str_from(token, TOKEN_LEN)));
        memcpy(token, "mst_ws_", 7);
        for (size_t at = 7; at + 1 < TOKEN_LEN; at++) {
            char a = token[at], b = token[at + 1];

            token[at] = b;
            token[at + 1] = a;
            CHECK(token_is_well_formed(str_from(token, TOKEN_LEN)) == (a == b));
            token[at] = a;
            token[at + 1] = b;
        }
    }
    CHECK(!token_is_well_formed(STR_NULL));
    CHECK(!token_is_well_formed(STR_LIT("")));
}
