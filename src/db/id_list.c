/* id_list.c - many numbers or texts as one parameter of a statement. */
#include "db/id_list.h"

#include <string.h>

#include "base/buf.h"
#include "db/postgres/array.h"

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

static struct str text_array(const struct str *texts, size_t n, struct arena *arena)
{
    PG_ARRAYS_SCOPED(array, 1, arena);
    struct db_value whole;

    for (size_t i = 0; i < n; i++) {
        const struct db_value text = db_text(texts[i]);

        pg_arrays_add(&array, &text);
    }
    pg_arrays_args(&array, &whole);
    return arena_copy(arena, whole.bytes);
}

struct db_value db_text_list(const struct db *db, const struct str *texts, size_t n,
                             struct arena *arena)
{
    BUF_SCOPED(json, SIZE_MAX); /* bounded: what a request or a page has */

    if (strcmp(db_dialect(db), "postgres") == 0)
        return db_text(text_array(texts, n, arena));
    buf_add_char(&json, '[');
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_add_char(&json, ',');
        buf_add_json(&json, texts[i]);
    }
    buf_add_char(&json, ']');
    return db_text(buf_take(&json, arena));
}
