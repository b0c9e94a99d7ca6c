/* test_digest.c - digests against published vectors, randomness against chance. */
#include "base/digest.h"

#include <stdio.h>

#include "test.h"

static void check_hex(const uint8_t *bytes, size_t n, const char *expected)
{
    char hex[2 * SHA256_BYTES + 1];

    for (size_t i = 0; i < n; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    CHECK_STR(str_of(hex), expected);
}

TEST(sha256_gives_the_published_digests)
{
    static const struct {
        const char *text, *hex;
    } rows[] = {
        { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct sha256 digest = digest_sha256(str_of(rows[i].text));

        check_hex(digest.bytes, SHA256_BYTES, rows[i].hex);
    }
}

/* RFC 7693 gives none of this length: these are those of Python's hashlib. */
TEST(a_mark_is_blake2b_of_sixteen_bytes)
{
    static const struct {
        const char *text, *hex;
    } rows[] = {
        { "", "cae66941d9efbd404e4d88758ea67670" },
        { "abc", "cf4ab791c62b8d2b2109c90275287816" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct mark mark = digest_mark(str_of(rows[i].text));

        check_hex(mark.bytes, MARK_BYTES, rows[i].hex);
    }
}

TEST(digests_are_equal_only_when_every_bit_is)
{
    struct sha256 a = digest_sha256(STR_LIT("a"));

    for (size_t bit = 0; bit < SHA256_BYTES * (size_t)8; bit++) {
        struct sha256 b = a;

        CHECK(digest_equal(&a, &b));
        b.bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
        CHECK(!digest_equal(&a, &b));
    }
}

TEST(crc32_gives_the_check_values_of_its_catalogue)
{
    CHECK_INT(digest_crc32(STR_LIT("123456789")), 0xcbf43926);
    CHECK_INT(digest_crc32(STR_LIT("")), 0);
    CHECK_INT(digest_crc32(STR_NULL), 0);
    CHECK_INT(digest_crc32(STR_LIT("The quick brown fox jumps over the lazy dog")), 0x414fa339);
}

TEST(base62_counts_digits_then_capitals_then_small_letters)
{
    static const struct {
        uint64_t value;
        const char *text;
    } rows[] = {
        { 0, "000000" },    { 9, "000009" },          { 10, "00000A" }, { 35, "00000Z" },
        { 36, "00000a" },   { 61, "00000z" },         { 62, "000010" }, { 3843, "0000zz" },
        { 3844, "000100" }, { UINT32_MAX, "4gfFC3" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[6];

        digest_base62(rows[i].value, text, sizeof(text));
        CHECK_STR(str_from(text, sizeof(text)), rows[i].text);
    }
}

/* Chi-square with 61 degrees of freedom: beyond 140 once in about 10^7 honest runs. */
TEST(random_base62_favours_no_digit)
{
    enum { EXPECTED = 1000, DRAWS = 62 * EXPECTED };
    static char drawn[DRAWS];
    int seen[256] = { 0 };
    double chi = 0;

    digest_random_base62(drawn, DRAWS);
    for (size_t i = 0; i < DRAWS; i++)
        seen[(unsigned char)drawn[i]]++;
    for (uint64_t digit = 0; digit < 62; digit++) {
        char c;
        double off;

        digest_base62(digit, &c, 1);
        off = (double)(seen[(unsigned char)c] - EXPECTED);
        chi += off * off / (double)EXPECTED;
    }
    CHECK(chi < 140);
}

TEST(random_numbers_stay_below_their_bound_and_reach_it)
{
    bool reached[3] = { false };

    for (int i = 0; i < 1000; i++) {
        uint32_t value = digest_random_below(3);

        CHECK(value < 3);
        reached[value] = true;
    }
    CHECK(reached[0] && reached[1] && reached[2]);
}

TEST(the_keyed_hash_is_stable_within_a_process_and_differs_by_bytes)
{
    CHECK(digest_sip(STR_LIT("abc")) == digest_sip(STR_LIT("abc")));
    CHECK(digest_sip(STR_LIT("abc")) != digest_sip(STR_LIT("abd")));
    CHECK(digest_sip(STR_NULL) == digest_sip(STR_LIT("")));
}
