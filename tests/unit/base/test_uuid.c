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
