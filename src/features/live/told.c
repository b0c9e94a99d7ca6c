/* told.c - a small set of tenants, written and read. */
#include "features/live/told.h"

#include <stdio.h>

#include "base/buf.h"

void told_note(struct told *t, int64_t tenant_id, bool others)
{
    if (!others || t->n > TOLD_MAX)
        return;
    for (size_t i = t->n; i-- > 0;)
        if (t->tenants[i] == tenant_id)
            return;
    if (t->n < TOLD_MAX)
        t->tenants[t->n] = tenant_id;
    t->n++;
}

bool told_take(struct told *t, struct buf *ret)
{
    const size_t n = t->n;

    if (n > TOLD_MAX)
        buf_add(ret, STR_LIT("*"));
    for (size_t i = 0; i < n && n <= TOLD_MAX; i++)
        buf_printf(ret, "%s%lld", i == 0 ? "" : " ", (long long)t->tenants[i]);
    t->n = 0;
    return n > 0;
}

bool told_names(struct str text, int64_t tenant_id)
{
    char wanted[24];
    const int len = snprintf(wanted, sizeof(wanted), "%lld", (long long)tenant_id);
    struct str rest = text;

    if (text.len == 0 || text.data[0] == '*')
        return true;
    while (rest.len > 0) {
        const char *blank = memchr(rest.data, ' ', rest.len);
        const size_t n = blank == NULL ? rest.len : (size_t)(blank - rest.data);

        if (n == (size_t)len && memcmp(rest.data, wanted, n) == 0)
            return true;
        rest = blank == NULL ? STR_NULL : str_from(blank + 1, rest.len - n - 1);
    }
    return false;
}
