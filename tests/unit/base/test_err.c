/* test_err.c - errors that grow on their way up. */
#include "base/err.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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

TEST(every_code_has_a_text_of_its_own)
{
    for (int a = ERR_NONE; a <= ERR_INTERNAL; a++)
        for (int b = ERR_NONE; b < a; b++)
            CHECK(strcmp(err_text((enum err_code)a), err_text((enum err_code)b)) != 0);
    CHECK_STR(str_of(err_text((enum err_code)(ERR_INTERNAL + 1))), "unknown error");
}

TEST(dying_says_why_and_aborts)
{
    char said[100] = "";
    int status, ends[2];
    pid_t child;

    CHECK_INT(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        (void)signal(SIGABRT, SIG_DFL);
        err_die("cannot go on: %d", 5);
    }
    (void)close(ends[1]);
    CHECK(read(ends[0], said, sizeof(said) - 1) > 0);
    (void)close(ends[0]);
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(str_starts(str_of(said), STR_LIT("muster: ")));
}
