/* test_framing.c - which bytes are one request, and which are not. */
#include "unit/http/offline.h"
#include "unit/http/wire.h"

#define HOST "Host: h\r\n"
#define GET  "GET / HTTP/1.1\r\n" HOST
#define POST "POST / HTTP/1.1\r\n" HOST
#define BAIT "GET /smuggled HTTP/1.1\r\n" HOST "\r\n"

struct row {
    const char *name;
    struct str bytes;
    const char *statuses; /* of all replies until the end */
    const char *bodies;   /* of those that are 200; NULL: not looked at */
};

#define ROW(name, bytes, statuses, bodies) { name, STR_INIT(bytes), statuses, bodies }
#define BAD(name, bytes)                   ROW(name, bytes BAIT, "400", "")
#define OK(name, bytes, body)              ROW(name, bytes, "200", body)

/* clang-format off */
static const struct row rows[] = {
    /* Accepted */
    OK("plain get",                   GET "\r\n",                                         "GET / []"),
    OK("1.0 without host",            "GET /a HTTP/1.0\r\n\r\n",                          "GET /a []"),
    OK("1.0 with host",               "GET /a HTTP/1.0\r\n" HOST "\r\n",                  "GET /a []"),
    OK("empty host",                  "GET / HTTP/1.1\r\nHost:\r\n\r\n",                  "GET / []"),
    OK("host in any case",            "GET / HTTP/1.1\r\nhOsT: h:80\r\n\r\n",             "GET / []"),
    OK("ipv6 host",                   "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",         "GET / []"),
    OK("query",                       "GET /a?b=c&d HTTP/1.1\r\n" HOST "\r\n",            "GET /a?b=c&d []"),
    OK("empty query",                 "GET /a? HTTP/1.1\r\n" HOST "\r\n",                 "GET /a? []"),
    OK("two question marks",          "GET /a?b?c HTTP/1.1\r\n" HOST "\r\n",              "GET /a?b?c []"),
    OK("absolute form",               "GET http://x/a?b HTTP/1.1\r\n" HOST "\r\n",        "GET /a?b []"),
    OK("absolute form, upper case",   "GET HTTP://x:80/a HTTP/1.1\r\n" HOST "\r\n",       "GET /a []"),
    OK("absolute form of https",      "GET https://x/a HTTP/1.1\r\n" HOST "\r\n",         "GET /a []"),
    OK("absolute form, no path",      "GET http://x HTTP/1.1\r\n" HOST "\r\n",            "GET / []"),
    OK("absolute form, only query",   "GET http://x?q HTTP/1.1\r\n" HOST "\r\n",          "GET /?q []"),
    OK("an empty line first",         "\r\n" GET "\r\n",                                  "GET / []"),
    OK("content-length",              POST "Content-Length: 3\r\n\r\nabc",                "POST / [abc]"),
    OK("content-length 0",            POST "Content-Length: 0\r\n\r\n",                   "POST / []"),
    OK("content-length, zeros first", POST "Content-Length: 003\r\n\r\nabc",              "POST / [abc]"),
    OK("content-length, blanks",      POST "Content-Length:  3  \r\n\r\nabc",            "POST / [abc]"),
    OK("no blank after the colon",    POST "Content-Length:3\r\n\r\nabc",                 "POST / [abc]"),
    OK("get with body",               GET "Content-Length: 2\r\n\r\nhi",                  "GET / [hi]"),
    OK("post without body",           POST "\r\n",                                        "POST / []"),
    OK("chunked",                     POST "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "POST / [abcde]"),
    OK("chunked, nothing",            POST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "POST / []"),
    OK("chunk size in hex",           POST "Transfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n", "POST / [0123456789]"),
    OK("chunk size, zeros first",     POST "Transfer-Encoding: chunked\r\n\r\n0003\r\nabc\r\n000\r\n\r\n", "POST / [abc]"),
    OK("chunk extension",             POST "Transfer-Encoding: chunked\r\n\r\n3;a=b;c\r\nabc\r\n0\r\n\r\n", "POST / [abc]"),
    OK("quoted chunk extension",      POST "Transfer-Encoding: chunked\r\n\r\n3;a=\"x y\"\r\nabc\r\n0\r\n\r\n", "POST / [abc]"),
    OK("trailers are dropped",        POST "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\nHost: evil\r\n\r\n", "POST / [abc]"),
    OK("unknown method",              "BREW / HTTP/1.1\r\n" HOST "\r\n",                  "BREW / []"),
    OK("lower-case method is other",  "get / HTTP/1.1\r\n" HOST "\r\n",                   "get / []"),
    OK("options with a path",         "OPTIONS /a HTTP/1.1\r\n" HOST "\r\n",              "OPTIONS /a []"),
    OK("upgrade is ignored",          GET "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA\r\n\r\n", "GET / []"),
    OK("upgrade with a body",         POST "Connection: upgrade\r\nUpgrade: x\r\nContent-Length: 2\r\n\r\nhi", "POST / [hi]"),
    OK("empty header value",          GET "X:\r\nY: \r\n\r\n",                            "GET / []"),
    OK("obs-text in a value",         GET "X: \xe4\r\n\r\n",                              "GET / []"),
    OK("tab in a value",              GET "X: a\tb\r\n\r\n",                              "GET / []"),
    OK("underscores are another name", POST "Content_Length: 9\r\nContent-Length: 1\r\n\r\na", "POST / [a]"),
    OK("percent escapes stay",        "GET /%2e%00 HTTP/1.1\r\n" HOST "\r\n",             "GET /%2e%00 []"),
    OK("expect is ignored by 1.0",    "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\na", "POST / [a]"),
    OK("identity coding",             POST "Content-Encoding: identity\r\nContent-Length: 1\r\n\r\na", "POST / [a]"),
    ROW("two in one go",              GET "\r\n" GET "\r\n",                              "200 200", "GET / []; GET / []"),
    ROW("body, then another",         POST "Content-Length: 3\r\n\r\nabc" BAIT,           "200 200", "POST / [abc]; GET /smuggled []"),
    ROW("chunks, then another",       POST "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n" BAIT, "200 200", "POST / [a]; GET /smuggled []"),
    ROW("trailers, then another",     POST "Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n" BAIT, "200 200", "POST / []; GET /smuggled []"),
    ROW("an empty line between",      POST "Content-Length: 1\r\n\r\na\r\n" BAIT,         "200 200", "POST / [a]; GET /smuggled []"),
    ROW("upgrade, then another",      GET "Connection: upgrade\r\nUpgrade: h2c\r\n\r\n" BAIT, "200 200", NULL),
    ROW("close ends it",              GET "Connection: close\r\n\r\n" BAIT,               "200", "GET / []"),
    ROW("1.0 ends it",                "GET / HTTP/1.0\r\n\r\n" BAIT,                      "200", "GET / []"),
    ROW("1.0 keep-alive does not",    "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" BAIT, "200 200", NULL),
    ROW("close among others",         GET "Connection: x, close\r\n\r\n" BAIT,            "200", NULL),
    ROW("early answer skips a body",  "POST /early HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\nabcd" BAIT, "401 200", "GET /smuggled []"),
    ROW("early answer to no body",    "GET /early HTTP/1.1\r\n" HOST "\r\n" BAIT,         "401 200", "GET /smuggled []"),
    ROW("early answer to chunks",     "POST /early HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" BAIT, "401", ""),
    ROW("early answer to long body",  "POST /early HTTP/1.1\r\n" HOST "Content-Length: 65537\r\n\r\n", "401", ""),

    /* Not enough */
    ROW("nothing",                    "",                                                 "", ""),
    ROW("half a head",                "GET / HTTP/1.1\r\nHo",                             "", ""),
    ROW("no end of head",             GET,                                                "", ""),
    ROW("half a body",                POST "Content-Length: 3\r\n\r\nab",                 "", ""),
    ROW("half a chunk",               POST "Transfer-Encoding: chunked\r\n\r\n3\r\nab",   "", ""),
    ROW("no last chunk",              POST "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "", ""),

    /* Refused: the request line */
    BAD("bare LF, no version",        "GET /x\n\n"),
    BAD("bare LF after the line",     "GET / HTTP/1.1\n" HOST "\r\n"),
    BAD("no version",                 "GET /\r\n\r\n"),
    BAD("http/0.9",                   "GET / HTTP/0.9\r\n" HOST "\r\n"),
    BAD("http/2.0",                   "GET / HTTP/2.0\r\n" HOST "\r\n"),
    BAD("http/1.2",                   "GET / HTTP/1.2\r\n" HOST "\r\n"),
    BAD("http/1",                     "GET / HTTP/1\r\n" HOST "\r\n"),
    BAD("http/1.10",                  "GET / HTTP/1.10\r\n" HOST "\r\n"),
    BAD("http/01.1",                  "GET / HTTP/01.1\r\n" HOST "\r\n"),
    BAD("lower-case version",         "GET / http/1.1\r\n" HOST "\r\n"),
    BAD("other protocol",             "GET / RTSP/1.0\r\n" HOST "\r\n"),
    BAD("h2 preface",                 "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    BAD("two spaces",                 "GET  / HTTP/1.1\r\n" HOST "\r\n"),
    BAD("space at the end",           "GET / HTTP/1.1 \r\n" HOST "\r\n"),
    BAD("space at the start",         " GET / HTTP/1.1\r\n" HOST "\r\n"),
    BAD("tab in the line",            "GET\t/ HTTP/1.1\r\n" HOST "\r\n"),
    BAD("no method",                  "/ HTTP/1.1\r\n" HOST "\r\n"),
    BAD("no target",                  "GET HTTP/1.1\r\n" HOST "\r\n"),
    BAD("method is no token",         "GE(T / HTTP/1.1\r\n" HOST "\r\n"),
    BAD("method too long",            "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA / HTTP/1.1\r\n" HOST "\r\n"),
    BAD("tls",                        "\x16\x03\x01\x02"),
    BAD("two empty lines first",      "\r\n\r\n" GET "\r\n"),
    BAD("an empty LF line first",     "\n" GET "\r\n"),
    BAD("asterisk form",              "OPTIONS * HTTP/1.1\r\n" HOST "\r\n"),
    BAD("authority form",             "CONNECT h:80 HTTP/1.1\r\n" HOST "\r\n"),
    BAD("no slash first",             "GET a HTTP/1.1\r\n" HOST "\r\n"),
    BAD("absolute form, no host",     "GET http:///a HTTP/1.1\r\n" HOST "\r\n"),
    BAD("absolute form, other scheme", "GET ftp://x/a HTTP/1.1\r\n" HOST "\r\n"),
    BAD("fragment",                   "GET /a#b HTTP/1.1\r\n" HOST "\r\n"),
    BAD("space in the target",        "GET /a b HTTP/1.1\r\n" HOST "\r\n"),
    BAD("control in the target",      "GET /a\x01 HTTP/1.1\r\n" HOST "\r\n"),
    BAD("delete in the target",       "GET /a\x7f HTTP/1.1\r\n" HOST "\r\n"),
    BAD("NUL in the target",          "GET /a\0 HTTP/1.1\r\n" HOST "\r\n"),
    BAD("not ASCII in the target",    "GET /\xc3\xa4 HTTP/1.1\r\n" HOST "\r\n"),
    BAD("CR in the target",           "GET /a\rb HTTP/1.1\r\n" HOST "\r\n"),

    /* Refused: header lines */
    BAD("no host",                    "GET / HTTP/1.1\r\n\r\n"),
    BAD("two hosts",                  GET HOST "\r\n"),
    BAD("two hosts in 1.0",           "GET / HTTP/1.0\r\n" HOST HOST "\r\n"),
    BAD("host list",                  "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"),
    BAD("host with a path",           "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
    BAD("host with a user",           "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n"),
    BAD("bare LF after a field",      "GET / HTTP/1.1\r\nHost: h\n\r\n"),
    BAD("bare LF ends the head",      GET "\n"),
    BAD("LF in a value",              GET "X: a\nY: b\r\n\r\n"),
    BAD("bare CR in a value",         GET "X: a\rb\r\n\r\n"),
    BAD("bare CR before CRLF",        GET "X: a\r\r\n\r\n"),
    BAD("NUL in a value",             GET "X: a\0b\r\n\r\n"),
    BAD("NUL in a name",              GET "X\0: a\r\n\r\n"),
    BAD("control in a value",         GET "X: a\x01\r\n\r\n"),
    BAD("obs-fold",                   GET "X: a\r\n b\r\n\r\n"),
    BAD("obs-fold with a tab",        GET "X: a\r\n\tb\r\n\r\n"),
    BAD("obs-fold first",             "GET / HTTP/1.1\r\n X: a\r\n" HOST "\r\n"),
    BAD("blank before the colon",     GET "X : a\r\n\r\n"),
    BAD("tab before the colon",       GET "X\t: a\r\n\r\n"),
    BAD("no colon",                   GET "X\r\n\r\n"),
    BAD("no name",                    GET ": a\r\n\r\n"),
    BAD("name is no token",           GET "X(: a\r\n\r\n"),
    BAD("blank in a name",            GET "X Y: a\r\n\r\n"),

    /* Refused: lengths */
    BAD("length and chunked",         POST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    BAD("chunked and length",         POST "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n"),
    BAD("length twice, equal",        POST "Content-Length: 1\r\nContent-Length: 1\r\n\r\na"),
    BAD("length twice, different",    POST "Content-Length: 1\r\nContent-Length: 2\r\n\r\na"),
    BAD("length list",                POST "Content-Length: 1, 1\r\n\r\na"),
    BAD("length with sign",           POST "Content-Length: +1\r\n\r\na"),
    BAD("length negative",            POST "Content-Length: -1\r\n\r\na"),
    BAD("length in hex",              POST "Content-Length: 0x1\r\n\r\na"),
    BAD("length empty",               POST "Content-Length:\r\n\r\na"),
    BAD("length blank inside",        POST "Content-Length: 1 1\r\n\r\na"),
    BAD("length overflows",           POST "Content-Length: 18446744073709551616\r\n\r\na"),
    BAD("length, tab behind",         POST "Content-Length: 1\t\r\n\r\na"),
    BAD("length is a fraction",       POST "Content-Length: 1.0\r\n\r\na"),
    BAD("te twice",                   POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    BAD("te list",                    POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    BAD("te chunked first",           POST "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"),
    BAD("te identity",                POST "Transfer-Encoding: identity\r\n\r\n"),
    BAD("te unknown",                 POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
    BAD("te with parameter",          POST "Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n"),
    BAD("te in other case",           POST "Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n"),
    BAD("te empty",                   POST "Transfer-Encoding:\r\n\r\n0\r\n\r\n"),
    BAD("te in quotes",               POST "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"),
    BAD("te with vertical tab",       POST "Transfer-Encoding: \x0b" "chunked\r\n\r\n0\r\n\r\n"),
    BAD("te in 1.0",                  "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),

    /* Refused: chunks */
    BAD("chunk size is no hex",       POST "Transfer-Encoding: chunked\r\n\r\ng\r\n"),
    BAD("chunk size empty",           POST "Transfer-Encoding: chunked\r\n\r\n\r\n"),
    BAD("chunk size with 0x",         POST "Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n"),
    BAD("chunk size with sign",       POST "Transfer-Encoding: chunked\r\n\r\n-1\r\na\r\n0\r\n\r\n"),
    BAD("chunk size overflows",       POST "Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\na\r\n0\r\n\r\n"),
    BAD("chunk size, bare LF",        POST "Transfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n"),
    BAD("chunk data, bare LF",        POST "Transfer-Encoding: chunked\r\n\r\n1\r\na\n0\r\n\r\n"),
    BAD("chunk longer than said",     POST "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n"),
    BAD("blank after the chunk size", POST "Transfer-Encoding: chunked\r\n\r\n1 \r\na\r\n0\r\n\r\n"),
    BAD("last chunk, bare LF",        POST "Transfer-Encoding: chunked\r\n\r\n0\n\n"),
    BAD("trailer, bare LF",           POST "Transfer-Encoding: chunked\r\n\r\n0\r\nX: a\n\r\n"),
    BAD("extension, bare LF",         POST "Transfer-Encoding: chunked\r\n\r\n1;a\na\r\n0\r\n\r\n"),
    BAD("extension, bare CR",         POST "Transfer-Encoding: chunked\r\n\r\n1;a\rb\r\na\r\n0\r\n\r\n"),

    ROW("unknown expectation",        POST "Expect: 200-ok\r\nContent-Length: 1\r\n\r\na", "417", ""),
    BAD("expect twice",               POST "Expect: 100-continue\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\na"),
};
/* clang-format on */

/* Rows that did not come out as they should: all are told before the test fails. */
static unsigned wrong;

static void check_row(const char *how, const struct row *row, struct str statuses,
                      struct str bodies)
{
    if (str_eq_c(statuses, row->statuses) && (row->bodies == NULL || str_eq_c(bodies, row->bodies)))
        return;
    wrong++;
    print_error("'%s' %s: got '%.*s' '%.*s', expected '%s' '%s'\n", row->name, how,
                STR_ARG(statuses), STR_ARG(bodies), row->statuses,
                row->bodies == NULL ? "(any)" : row->bodies);
}

static void check_over_socket(const struct wire *w, const struct row *row, bool by_byte)
{
    struct buf all, statuses, bodies;
    int fd = wire_connect(w);

    buf_init(&all, MIB(1));
    buf_init(&statuses, KIB(4));
    buf_init(&bodies, KIB(64));
    if (by_byte) {
        for (size_t i = 0; i < row->bytes.len; i++) {
            if (!wire_send(fd, str_from(row->bytes.data + i, 1)))
                break;
        }
    } else {
        (void)wire_send(fd, row->bytes);
    }
    shutdown(fd, SHUT_WR);
    if (!wire_read_all(fd, &all))
        fail_msg("'%s': the connection was reset", row->name);
    wire_summary(buf_str(&all), &statuses, &bodies);
    check_row(by_byte ? "byte by byte" : "in one go", row, buf_str(&statuses), buf_str(&bodies));
    if (strcmp(row->statuses, "400") == 0)
        CHECK(wire_has(&all, "\r\nConnection: close\r\n"));
    buf_done(&all);
    buf_done(&statuses);
    buf_done(&bodies);
    close(fd);
}

TEST(every_request_is_framed_as_the_table_says_over_a_socket)
{
    struct wire w;

    wrong = 0;
    wire_start(&w, NULL, 1, NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        check_over_socket(&w, &rows[i], false);
        check_over_socket(&w, &rows[i], true);
    }
    wire_stop(&w);
    CHECK_INT(wrong, 0);
}

static void check_split(const struct row *row, size_t at, size_t step)
{
    struct offline o;

    offline_init(&o);
    offline_feed(&o, str_from(row->bytes.data, at));
    while (at < row->bytes.len) {
        size_t n = row->bytes.len - at < step ? row->bytes.len - at : step;

        offline_feed(&o, str_from(row->bytes.data + at, n));
        at += n;
    }
    check_row("split", row, buf_str(&o.statuses), buf_str(&o.bodies));
    offline_done(&o);
}

TEST(the_outcome_does_not_depend_on_where_the_bytes_are_split)
{
    wrong = 0;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (strncmp(rows[i].name, "early answer", 12) == 0)
            continue; /* needs an application */
        for (size_t at = 0; at < rows[i].bytes.len; at++)
            check_split(&rows[i], at, SIZE_MAX);
        check_split(&rows[i], 0, 1);
        check_split(&rows[i], 0, 2);
        check_split(&rows[i], 0, 3);
    }
    CHECK_INT(wrong, 0);
}

TEST(the_table_has_accepted_and_refused_rows_enough)
{
    CHECK(COUNT_OF(rows) >= 120);
}
