/* test.c - collects the TESTs of a program and runs them. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/digest.h"

enum { TESTS_MAX = 256 };

static struct CMUnitTest tests[TESTS_MAX];
static size_t n_tests;

void test_register(const char *name, CMUnitTestFunction function)
{
    if (n_tests == TESTS_MAX)
        abort();
    tests[n_tests++] = (struct CMUnitTest){ .name = name, .test_func = function };
}

void test_check_str(struct str actual, const char *expected, const char *file, int line)
{
    if (str_eq_c(actual, expected))
        return;
    print_error("got      %.*s\nexpected %s\n", STR_ARG(actual), expected);
    _fail(file, line);
}

int main(void)
{
    digest_init();
    return _cmocka_run_group_tests("tests", tests, n_tests, NULL, NULL);
}
