/* fuzz_uuid.c - what parses as a UUID becomes canonical, and stays so. */
#include "base/uuid.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char once[UUID_TEXT_LEN], twice[UUID_TEXT_LEN];

    if (!uuid_parse(str_from((const char *)data, size), once))
        return 0;
    for (size_t i = 0; i < UUID_TEXT_LEN; i++) {
        bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;

        FUZZ_CHECK(memchr(hyphen ? "-" : "0123456789abcdef", once[i], hyphen ? 1 : 16) != NULL);
    }
    FUZZ_CHECK(uuid_parse(str_from(once, sizeof(once)), twice));
    FUZZ_CHECK(memcmp(once, twice, sizeof(once)) == 0);
    return 0;
}
