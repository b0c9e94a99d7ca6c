/* run_cursor.c - formats and parses cursors of the list of runs. */
#include "features/events/run_cursor.h"

#include "base/digest.h"

enum { START_LEN = 11, ID_LEN = 36, CHECK_AT = START_LEN + ID_LEN };

struct str run_cursor_format(const struct run_cursor *cursor, char text[RUN_CURSOR_LEN])
{
    size_t id_len = cursor->run_id.len < ID_LEN ? cursor->run_id.len : ID_LEN;

    digest_base62((uint64_t)cursor->start_at, text, START_LEN);
    memset(text + START_LEN, '-', ID_LEN);
    memcpy(text + START_LEN, cursor->run_id.data, id_len);
    digest_base62(digest_crc32(str_from(text, CHECK_AT)), text + CHECK_AT,
                  RUN_CURSOR_LEN - CHECK_AT);
    return str_from(text, RUN_CURSOR_LEN);
}

/* Parses without validation, then accepts only text that formats to the same bytes again. */
bool run_cursor_parse(struct str s, struct run_cursor *ret)
{
    char text[RUN_CURSOR_LEN];
    struct run_cursor cursor;
    uint64_t start;

    if (s.len != RUN_CURSOR_LEN)
        return false;
    start = digest_base62_value(str_from(s.data, START_LEN));
    cursor = (struct run_cursor){ (int64_t)start, str_from(s.data + START_LEN, ID_LEN) };
    if (!str_eq(run_cursor_format(&cursor, text), s))
        return false;
    *ret = cursor;
    return true;
}
