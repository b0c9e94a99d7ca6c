/* test_uuid.c - UUIDs in any standard spelling. */
#include "base/uuid.h"

#include "test.h"

#define CANONICAL "0f8fad5b-d9cb-469f-a165-70867728950e"

TEST(every_standard_spelling_becomes_the_canonical_one)
{
    static const char *const rows[] = {
        CANONICAL,
        "0F8FAD5B-D9CB-469F-A165-70867728950E",
        "0f8fad5bd9cb469fa16570867728950e",
        "{0f8fad5b-D9CB-469f-a165-70867728950e}",
        ("urn:uuid:" CANONICAL),
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[UUID_TEXT_LEN];

        CHECK(uuid_parse(str_of(rows[i]), text));
        CHECK_STR(str_from(text, sizeof(text)), CANONICAL);
    }
}

TEST(anything_else_is_refused)
{
    static const char *const rows[] = {
        "",
        "0f8fad5b",
        "0f8fad5b-d9cb-469f-a165-70867728950",
        "0f8fad5b-d9cb-469f-a165-70867728950g",
        "0f8fad5b-d9cb-469f-a165-70867728950e0",
        "0f8fad5bd-9cb-469f-a165-70867728950e",
        "0f8fad5b_d9cb_469f_a165_70867728950e",
        "0f8fad5bd9cb469fa16570867728950-",
        "{0f8fad5b-d9cb-469f-a165-70867728950e)",
        "{0f8fad5bd9cb469fa16570867728950e}",
        ("URN:UUID:" CANONICAL),
        "urn:uuid:0f8fad5bd9cb469fa16570867728950e",
        (" " CANONICAL),
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[UUID_TEXT_LEN];

        CHECK(!uuid_parse(str_of(rows[i]), text));
    }
    CHECK(!uuid_parse(STR_NULL, (char[UUID_TEXT_LEN]){ 0 }));
}

TEST(a_packed_uuid_becomes_the_text_it_was)
{
    static const char *const rows[] = { CANONICAL, "00000000-0000-0000-0000-000000000000",
                                        "ffffffff-ffff-ffff-ffff-ffffffffffff" };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint8_t bytes[UUID_BYTES];
        char text[UUID_TEXT_LEN];

        CHECK(uuid_pack(str_of(rows[i]), bytes));
        uuid_format(bytes, text);
        CHECK_STR(str_from(text, sizeof(text)), rows[i]);
    }
}

TEST(a_text_that_would_not_come_back_is_not_packed)
{
    static const char *const rows[] = {
        "",
        "0F8fad5b-d9cb-469f-a165-70867728950e",
        "0f8fad5b-d9cb-469f-a165-70867728950E",
        "0f8fad5b-d9cb-469f-a165-70867728950g",
        "0f8fad5b-d9cb-469f-a165-7086772895",
        "0f8fad5b-d9cb-469f-a165-70867728950e0",
        "0f8fad5bd9cb469fa16570867728950e",
        "0f8fad5b_d9cb-469f-a165-70867728950e",
        "0f8fad5b-d9cb-469f-a1650-0867728950e",
        "-0f8fad5-d9cb-469f-a165-70867728950e",
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint8_t bytes[UUID_BYTES];

        CHECK(!uuid_pack(str_of(rows[i]), bytes));
    }
}
