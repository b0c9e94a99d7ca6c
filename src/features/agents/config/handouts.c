/* handouts.c - a table of digests in sets; where a set is full, the oldest gives way. */
#include "features/agents/config/handouts.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/lock.h"
#include "base/mem.h"

enum { SETS = 8192, WAYS = 8, HOUR_S = 3600 };

/* All zeroes: free. */
struct noted {
    struct mark mark;
    int64_t at_us;
};

struct handouts {
    struct lock lock;
    struct noted (*sets)[WAYS] GUARDED_BY(lock);
};

struct handouts *handouts_new(void)
{
    struct handouts *h = NEW(struct handouts);

    lock_init(&h->lock);
    h->sets = mem_new(SETS * sizeof(*h->sets));
    return h;
}

void handouts_free(struct handouts *h)
{
    if (h == NULL)
        return;
    lock_unshared(&h->lock);
    free(h->sets);
    lock_done(&h->lock);
    free(h);
}

static void add_text(struct buf *out, struct str s)
{
    buf_printf(out, "%zu:", s.len);
    buf_add(out, s);
}

static struct mark mark_of(const struct handout *handout)
{
    BUF_SCOPED(out, SIZE_MAX); /* names and an address: short */

    buf_printf(&out, "%lld:", (long long)handout->tenant_id);
    add_text(&out, handout->actor);
    add_text(&out, handout->origin);
    add_text(&out, handout->agent_name);
    add_text(&out, handout->name);
    add_text(&out, handout->seal);
    return digest_mark(buf_str(&out));
}

static struct noted *set_of(struct handouts *h, const struct mark *mark) REQUIRES(h->lock)
{
    uint32_t number;

    memcpy(&number, mark->bytes, sizeof(number));
    return h->sets[number % SETS];
}

static bool is_noted(const struct noted *noted, const struct mark *mark)
{
    return noted->at_us != 0 && memcmp(&noted->mark, mark, sizeof(*mark)) == 0;
}

bool handouts_has(struct handouts *h, const struct handout *handout, int64_t mono_us)
{
    const struct mark mark = mark_of(handout);
    const struct noted *set;
    bool found = false;

    lock_acquire(&h->lock);
    set = set_of(h, &mark);
    for (size_t i = 0; i < WAYS && !found; i++)
        found = is_noted(&set[i], &mark) && mono_us - set[i].at_us < (int64_t)HOUR_S * USEC_PER_SEC;
    lock_release(&h->lock);
    return found;
}

void handouts_add(struct handouts *h, const struct handout *handout, int64_t mono_us)
{
    const struct mark mark = mark_of(handout);
    struct noted *set, *oldest;

    lock_acquire(&h->lock);
    set = oldest = set_of(h, &mark);
    for (size_t i = 0; i < WAYS; i++) {
        if (is_noted(&set[i], &mark)) {
            oldest = &set[i];
            break;
        }
        if (set[i].at_us < oldest->at_us)
            oldest = &set[i];
    }
    *oldest = (struct noted){ mark, mono_us };
    lock_release(&h->lock);
}
