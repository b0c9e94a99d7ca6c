/* suggest.c - edit distance between words. */
#include "cli/help.h"

#include <stddef.h>
#include <string.h>

#include "base/str.h"

enum { WORD_MAX = 40, FAR = WORD_MAX };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters to insert, delete, replace or swap with their neighbour to make `b` of `a`. */
static size_t distance(const char *a, const char *b)
{
    const size_t n = strlen(a), m = strlen(b);
    size_t rows[WORD_MAX + 1][WORD_MAX + 1];

    if (n > WORD_MAX || m > WORD_MAX)
        return FAR;
    for (size_t i = 0; i <= n; i++)
        rows[i][0] = i;
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 1; j <= m; j++) {
            const size_t replaced = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

            rows[i][j] = least(replaced, least(rows[i - 1][j], rows[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                rows[i][j] = least(rows[i][j], rows[i - 2][j - 2] + 1);
        }
    }
    return rows[n][m];
}

const char *suggest(const char *typed, const char *const *words)
{
    const size_t len = strlen(typed);
    size_t best = len / 3 + 2; /* one slip in a short word, two from three letters on */
    const char *nearest = NULL;

    for (; *words != NULL; words++) {
        const bool begins = len >= 2 && strncmp(*words, typed, len) == 0;
        const size_t d = begins ? 1 : distance(typed, *words);

        if (d < best && d < least(len, strlen(*words))) {
            best = d;
            nearest = *words;
        }
    }
    return nearest;
}
