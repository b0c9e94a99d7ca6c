/* test_err.c - errors that grow on their way up. */
#include "base/err.h"

#include "test.h"

TEST(setting_and_wrapping_return_minus_one_and_build_a_sentence)
{
    struct error err;

    CHECK_INT(err_set(&err, ERR_FULL, "no room for %d bytes", 12), -1);
    CHECK_INT(err_wrap(&err, "storing '%s'", "x"), -1);
    CHECK_INT(err.code, ERR_FULL);
    CHECK_STR(str_of(err.text), "storing 'x': no room for 12 bytes");
    CHECK_INT(err_set(NULL, ERR_FULL, "not asked for"), -1);
    CHECK_INT(err_wrap(NULL, "not asked for"), -1);
}

TEST(a_sentence_that_is_too_long_is_cut_not_overrun)
{
    struct error err;

    (void)err_set(&err, ERR_IO, "%0300d", 1);
    CHECK_INT(strlen(err.text), ERR_TEXT_MAX - 1);
    (void)err_wrap(&err, "outer");
    CHECK(str_starts(str_of(err.text), STR_LIT("outer: 000")));
    (void)err_wrap(&err, "%0400d", 1);
    CHECK_INT(strlen(err.text), ERR_TEXT_MAX - 1);
    CHECK_INT(err.code, ERR_IO);
}
