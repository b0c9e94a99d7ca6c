/* run_cursor.h - a position in the list of runs, as opaque text for clients.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "base/str.h"

/* Runs are listed by these two, both descending; no two runs of a tenant are equal in both. Neither
 * depends on the database or on the order of arrival. */
struct run_cursor {
    int64_t start_at;
    struct str run_id; /* borrowed */
};

/* Before and after every other id. */
#define RUN_ID_FIRST STR_LIT("00000000-0000-0000-0000-000000000000")
#define RUN_ID_LAST  STR_LIT("ffffffff-ffff-ffff-ffff-ffffffffffff")

/* Before every run. */
#define RUN_CURSOR_TOP ((struct run_cursor){ INT64_MAX, RUN_ID_FIRST })

/* Eleven base62 digits of the start, the id, six base62 digits of CRC-32 over both. */
enum { RUN_CURSOR_LEN = 11 + 36 + 6 };

/* Returns `text` as a str. The id is a UUID as stored. */
struct str run_cursor_format(const struct run_cursor *cursor, char text[RUN_CURSOR_LEN]);

/* False when run_cursor_format() did not write it. *ret points into `s`. */
bool run_cursor_parse(struct str s, struct run_cursor *ret);
