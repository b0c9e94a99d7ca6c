/* test.c - collects the TESTs of a program and runs those of one file, or all.
 *
 *   unit_alerts                               all of its files
 *   unit_alerts features/alerts/test_stuck    one file of them, as ctest does
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/digest.h"

struct registered {
    const char *file; /* as the compiler was given it */
    struct CMUnitTest test;
};

static struct registered *registered;
static size_t n_registered;

/* "/a/tests/unit/base/test_map.c" and "grows": "test_map.grows". */
static char *name_of(const char *file, const char *name)
{
    const char *slash = strrchr(file, '/'), *stem = slash != NULL ? slash + 1 : file;
    char *text;

    if (asprintf(&text, "%.*s.%s", (int)strcspn(stem, "."), stem, name) < 0)
        abort();
    return text;
}

void test_register(const char *file, const char *name, CMUnitTestFunction function)
{
    registered = realloc(registered, (n_registered + 1) * sizeof(*registered));
    if (registered == NULL)
        abort();
    registered[n_registered++] = (struct registered){
        .file = file,
        .test = { .name = name_of(file, name), .test_func = function },
    };
}

void test_check_str(struct str actual, const char *expected, const char *file, int line)
{
    if (str_eq_c(actual, expected))
        return;
    print_error("got      %.*s\nexpected %s\n", STR_ARG(actual), expected);
    _fail(file, line);
}

/* Is `file` that of `wanted`, a path without its first folders and ".c"? NULL: any is. */
static bool is_wanted(const char *file, const char *wanted)
{
    size_t length, end = strlen(file);

    if (wanted == NULL)
        return true;
    length = strlen(wanted) + strlen("/.c");
    return end > length && file[end - length] == '/' &&
           strncmp(file + end - length + 1, wanted, strlen(wanted)) == 0;
}

int main(int argc, char **argv)
{
    const char *wanted = argc > 1 ? argv[1] : NULL;
    struct CMUnitTest *tests = calloc(n_registered + 1, sizeof(*tests));
    size_t n = 0;
    int failed;

    if (tests == NULL)
        abort();
    for (size_t i = 0; i < n_registered; i++)
        if (is_wanted(registered[i].file, wanted))
            tests[n++] = registered[i].test;
    if (n == 0) {
        (void)fprintf(stderr, "no tests in '%s'\n", wanted != NULL ? wanted : argv[0]);
        return EXIT_FAILURE;
    }
    digest_init();
    failed = _cmocka_run_group_tests(wanted != NULL ? wanted : "all files", tests, n, NULL, NULL);
    free(tests);
    return failed;
}
