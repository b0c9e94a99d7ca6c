/* test_crc32c.c - checksums against published vectors, and one way of computing them against the
 * other.
 */
#include "base/digest.h"

#include "test.h"
#include "unit/random.h"

/* RFC 3720, B.4, and the catalogue's check value. */
TEST(crc32c_gives_the_published_checksums)
{
    uint8_t zeroes[32] = { 0 }, ones[32], up[32], down[32];

    for (size_t i = 0; i < 32; i++) {
        ones[i] = 0xff;
        up[i] = (uint8_t)i;
        down[i] = (uint8_t)(31 - i);
    }
    CHECK_INT(crc32c(0, "123456789", 9), 0xe3069283);
    CHECK_INT(crc32c(0, zeroes, 32), 0x8a9136aa);
    CHECK_INT(crc32c(0, ones, 32), 0x62a8ab43);
    CHECK_INT(crc32c(0, up, 32), 0x46dd794e);
    CHECK_INT(crc32c(0, down, 32), 0x113fdb5c);
    CHECK_INT(crc32c(0, "", 0), 0);
    CHECK_INT(crc32c_by_table(0, "123456789", 9), 0xe3069283);
}

TEST(both_ways_agree_and_parts_give_the_whole)
{
    struct random rng = { 11 };
    uint8_t bytes[200];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)random_below(&rng, 256);
    for (size_t from = 0; from < 9; from++)
        for (size_t len = 0; from + len <= sizeof(bytes); len++) {
            uint32_t whole = crc32c(0, bytes + from, len);

            CHECK_INT(crc32c_by_table(0, bytes + from, len), whole);
            CHECK_INT(
                crc32c(crc32c(0, bytes + from, len / 3), bytes + from + len / 3, len - len / 3),
                whole);
        }
}
