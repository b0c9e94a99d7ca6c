/* script.c - several statements, sent one by one.
 *
 * Citus passes a command on to its workers as the text that it got, and those
 * take one statement at a time.
 */
#include <string.h>

#include "db/postgres/postgres.h"

/* The place after the next `end` in `rest`, or the end of `rest` if it has no `end`. */
static size_t skip_past(struct str rest, size_t from, struct str end)
{
    for (size_t at = from; at + end.len <= rest.len; at++)
        if (memcmp(rest.data + at, end.data, end.len) == 0)
            return at + end.len;
    return rest.len;
}

/* The length of $tag$ at the start of `rest`; 0 if `rest` does not start with one. */
static size_t dollar_quote(struct str rest)
{
    for (size_t at = 1; at < rest.len; at++) {
        const char c = rest.data[at];

        if (c == '$')
            return at + 1;
        if (c != '_' && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z'))
            return 0;
    }
    return 0;
}

/* Past the quote or comment that begins at `at`; `at` itself when none does. */
static size_t skip_opaque(struct str text, size_t at)
{
    const struct str rest = str_from(text.data + at, text.len - at);
    size_t quote;

    if (str_starts(rest, STR_LIT("--")))
        return at + skip_past(rest, 2, STR_LIT("\n"));
    if (str_starts(rest, STR_LIT("/*")))
        return at + skip_past(rest, 2, STR_LIT("*/"));
    if (rest.data[0] == '\'' || rest.data[0] == '"')
        return at + skip_past(rest, 1, str_from(rest.data, 1));
    quote = rest.data[0] == '$' ? dollar_quote(rest) : 0;
    return quote == 0 ? at : at + skip_past(rest, quote, str_from(rest.data, quote));
}

struct str db_postgres_next_statement(struct str *rest)
{
    const struct str text = *rest;
    size_t begin = text.len, at = 0;

    while (at < text.len && (text.data[at] != ';' || begin == text.len)) {
        const size_t next = skip_opaque(text, at);
        const bool comment = next > at && (text.data[at] == '-' || text.data[at] == '/');
        const bool blank = strchr("; \t\r\n", text.data[at]) != NULL;

        if (begin == text.len && !comment && !blank)
            begin = at;
        at = next > at ? next : at + 1;
    }
    *rest = at < text.len ? str_from(text.data + at + 1, text.len - at - 1) : STR_NULL;
    return begin < at ? str_from(text.data + begin, at - begin) : STR_NULL;
}

static int run_each(struct postgres *pg, const char *sql, struct error *err)
{
    struct str rest = str_of(sql), one;
    BUF_SCOPED(text, SIZE_MAX); /* bounded by the script */
    int r = 0;

    while (r == 0 && !str_is_null(one = db_postgres_next_statement(&rest))) {
        buf_clear(&text);
        buf_add(&text, one);
        buf_add_char(&text, '\0');
        r = db_postgres_run(pg, text.data, NULL, NULL, err);
    }
    return r;
}

int db_postgres_script(struct db *db, const char *sql, struct error *err)
{
    struct postgres *pg = (struct postgres *)db;
    int r;

    /* A migration has no time limit. */
    if (db_postgres_run(pg, "SET statement_timeout = 0", NULL, NULL, err) != 0)
        return -1;
    pg->wait_ms = -1;
    r = run_each(pg, sql, err);
    pg->wait_ms = DB_POSTGRES_WAIT_MS;
    /* In a failed transaction nothing can be set, and its end takes the change back. */
    if (pg->conn != NULL && PQtransactionStatus(pg->conn) != PQTRANS_INERROR &&
        db_postgres_run(pg, DB_POSTGRES_SET_TIMEOUT, NULL, NULL, r == 0 ? err : NULL) != 0)
        r = -1;
    return r;
}
