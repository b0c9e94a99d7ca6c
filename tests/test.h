/* test.h - the words our C tests are written in, over cmocka.
 *
 *   TEST(arena_survives_a_reset) { … CHECK(x == 3); … }
 *
 * A TEST registers itself under its file and name. A test program is made of all the files of a
 * module, has its main() in test.c and runs the files it is given.
 */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"

void test_register(const char *file, const char *name, CMUnitTestFunction function);

#define TEST(name)                                                                                 \
    static void test_##name(void **state);                                                         \
    __attribute__((constructor)) static void register_##name(void)                                 \
    {                                                                                              \
        test_register(__FILE__, #name, test_##name);                                               \
    }                                                                                              \
    static void test_##name(void **state __attribute__((unused)))

#define CHECK(condition) assert_true(condition)

/* Says both sides when they differ. */
#define CHECK_INT(actual, expected) assert_int_equal((actual), (expected))
#define CHECK_STR(actual, expected) test_check_str((actual), (expected), __FILE__, __LINE__)

void test_check_str(struct str actual, const char *expected, const char *file, int line);
