/* support.c - what every fuzz target has in common. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/digest.h"

__attribute__((constructor)) static void start(void)
{
    digest_init();
}

void fuzz_fail(const char *condition, const char *file, int line)
{
    (void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

size_t fuzz_pick(struct str *input, size_t n)
{
    unsigned char first;

    if (input->len == 0)
        return 0;
    first = (unsigned char)input->data[0];
    *input = str_from(input->data + 1, input->len - 1);
    return first >= 'a' && first < 'a' + n ? (size_t)(first - 'a') : first % n;
}

const struct shape *fuzz_pick_shape(struct str *input, const struct schema_set *shapes)
{
    struct str rest = *input, name = str_split(&rest, '\n');

    for (size_t i = 0; i < shapes->n; i++) {
        if (str_eq_c(name, shapes->items[i]->name)) {
            *input = str_is_null(rest) ? STR_LIT("") : rest;
            return shapes->items[i];
        }
    }
    return shapes->items[fuzz_pick(input, shapes->n)];
}
