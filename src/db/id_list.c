/* id_list.c - many numbers as one parameter of a statement. */
#include "db/id_list.h"

#include <string.h>

#include "base/buf.h"

struct db_value db_id_list(const struct db *db, const int64_t *ids, size_t n, struct arena *arena)
{
    const bool is_array = strcmp(db_dialect(db), "postgres") == 0;
    BUF_SCOPED(text, SIZE_MAX); /* bounded: ids of a page */

    buf_add_char(&text, is_array ? '{' : '[');
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_add_char(&text, ',');
        buf_add_int(&text, ids[i]);
    }
    buf_add_char(&text, is_array ? '}' : ']');
    return db_text(arena_copy(arena, buf_str(&text)));
}
