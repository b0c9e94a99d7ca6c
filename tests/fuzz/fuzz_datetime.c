/* fuzz_datetime.c - what parses as a date-time means the same after formatting. */
#include "base/datetime.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_from((const char *)data, size);
    char formatted[DATETIME_TEXT_MAX];
    int64_t us, again;
    struct datetime_parts parts;

    if (datetime_parse(text, &us) != NULL || datetime_is_year_zero(text))
        return 0;
    FUZZ_CHECK(datetime_parse(datetime_format(us, formatted), &again) == NULL);
    FUZZ_CHECK(again == us);
    parts = datetime_split(us);
    FUZZ_CHECK(datetime_join(&parts) == us);
    return 0;
}
