/* key_line.c - a line of keys and its window, made when it is first asked for. */
#include "features/access/key_line.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "features/access/rate.h"

struct key_line *key_line_new(struct str id)
{
    struct key_line *line = mem_new(sizeof(*line) + id.len);

    atomic_init(&line->rate, NULL);
    line->n_keys = 0;
    line->id = str_from(line->text, id.len);
    memcpy(line->text, id.data, id.len);
    return line;
}

void key_line_free(struct key_line *line)
{
    assert(line->n_keys == 0);
    rate_window_free(atomic_load(&line->rate));
    free(line);
}

struct rate_window *key_line_rate(struct key_line *line)
{
    struct rate_window *rate = atomic_load_explicit(&line->rate, memory_order_acquire);
    struct rate_window *made;

    if (rate != NULL)
        return rate;
    made = rate_window_new(line->id);
    if (atomic_compare_exchange_strong(&line->rate, &rate, made))
        return made;
    rate_window_free(made); /* another thread was first */
    return rate;
}
