/* test_log.c - log lines, read back from a pipe that stands in for standard error. */
#include "base/log.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/datetime.h"
#include "test.h"

static int saved_stderr, pipe_out;

static void divert(void)
{
    int ends[2];

    CHECK_INT(pipe(ends), 0);
    saved_stderr = dup(STDERR_FILENO);
    (void)dup2(ends[1], STDERR_FILENO);
    (void)close(ends[1]);
    pipe_out = ends[0];
}

/* All that was written since divert(). */
static struct str restore(char *text, size_t size)
{
    size_t len = 0;
    ssize_t n;

    (void)dup2(saved_stderr, STDERR_FILENO); /* closes the pipe's only other end */
    (void)close(saved_stderr);
    while ((n = read(pipe_out, text + len, size - len)) > 0)
        len += (size_t)n;
    (void)close(pipe_out);
    return str_from(text, len);
}

/* What follows the time, which is checked by itself. */
static struct str without_time(struct str line)
{
    struct str rest = line;
    struct str when = str_split(&rest, ' ');
    int64_t us;

    assert_null(datetime_parse(when, &us));
    CHECK(clock_wall_us() - us < 60LL * USEC_PER_SEC);
    return rest;
}

TEST(a_line_has_time_level_event_and_fields)
{
    char text[8192];
    struct log_line line;

    divert();
    log_begin(&line, LOG_INFO, "access");
    log_str(&line, "path", STR_LIT("/api/v1/health"));
    log_int(&line, "status", -200);
    log_end(&line);
    CHECK_STR(without_time(restore(text, sizeof(text))),
              "info access path=/api/v1/health status=-200\n");
}

TEST(nothing_in_a_value_can_forge_a_line_or_a_field)
{
    static const struct {
        struct str value;
        const char *written;
    } rows[] = {
        { STR_INIT(""), "\"\"" },
        { STR_INIT("two words"), "\"two words\"" },
        { STR_INIT("a=b"), "\"a=b\"" },
        { STR_INIT("x\n2026 error fake"), "\"x\\x0a2026 error fake\"" },
        { STR_INIT("\r\x1b[31m\x7f"), "\"\\x0d\\x1b[31m\\x7f\"" },
        { STR_INIT("\xc2\x9b"), "\"\\xc2\\x9b\"" },
        { STR_INIT("say \"hi\" \\"), "\"say \\\"hi\\\" \\\\\"" },
        { STR_INIT("nul\0nul"), "\"nul\\x00nul\"" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[8192];
        struct log_line line;
        struct str got;

        divert();
        log_begin(&line, LOG_ERROR, "e");
        log_str(&line, "v", rows[i].value);
        log_end(&line);
        got = without_time(restore(text, sizeof(text)));
        CHECK(str_starts(got, STR_LIT("error e v=")));
        CHECK(got.len > 0 && got.data[got.len - 1] == '\n');
        CHECK_STR(str_from(got.data + 10, got.len - 11), rows[i].written);
    }
}

TEST(in_json_a_value_is_a_string_of_ascii)
{
    static const struct {
        struct str value;
        const char *written;
    } rows[] = {
        { STR_INIT(""), "" },
        { STR_INIT("say \"hi\" \\"), "say \\\"hi\\\" \\\\" },
        { STR_INIT("x\n\x1b\x7f"), "x\\u000a\\u001b\\u007f" },
        { STR_INIT("\xc3\xa4\xe2\x82\xac"), "\\u00e4\\u20ac" },
        { STR_INIT("\xf0\x9f\x98\x80"), "\\ud83d\\ude00" },
        { STR_INIT("\xc2\x9b"), "\\u009b" },
        { STR_INIT("\xff"
                   "a\xc3"),
          "\\ufffda\\ufffd" },                                            /* no UTF-8 */
        { STR_INIT("\xc0\x80"), "\\ufffd\\ufffd" },                       /* longer than needed */
        { STR_INIT("\xed\xa0\x80"), "\\ufffd\\ufffd\\ufffd" },            /* half of a pair */
        { STR_INIT("\xf5\x80\x80\x80"), "\\ufffd\\ufffd\\ufffd\\ufffd" }, /* beyond U+10FFFF */
    };

    log_set_format(LOG_JSON);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        static char text[8192], wanted[8192];
        struct log_line line;
        struct str got;

        divert();
        log_begin(&line, LOG_ERROR, "e");
        log_str(&line, "v", rows[i].value);
        log_int(&line, "n", -1);
        log_end(&line);
        got = restore(text, sizeof(text));
        (void)snprintf(wanted, sizeof(wanted),
                       "\"level\":\"error\",\"event\":\"e\",\"v\":\"%s\",\"n\":-1}\n",
                       rows[i].written);
        CHECK(str_starts(got, STR_LIT("{\"time\":\"")));
        (void)str_split(&got, ',');
        CHECK_STR(got, wanted);
    }
    log_set_format(LOG_TEXT);
}

TEST(in_json_a_field_that_does_not_fit_is_left_out)
{
    static char value[70000], text[70000];
    struct log_line line;
    struct str got;

    memset(value, 'v', sizeof(value));
    log_set_format(LOG_JSON);
    divert();
    log_begin(&line, LOG_INFO, "e");
    log_str(&line, "v", str_from(value, sizeof(value)));
    log_str(&line, "w", STR_LIT("x"));
    log_end(&line);
    log_set_format(LOG_TEXT);
    got = restore(text, sizeof(text));
    (void)str_split(&got, ',');
    CHECK_STR(got, "\"level\":\"info\",\"event\":\"e\",\"w\":\"x\",\"cut\":true}\n");
}

TEST(lines_below_the_level_are_not_written)
{
    char text[8192];

    divert();
    log_write(LOG_DEBUG, "quiet", "by default");
    log_set_level(LOG_ERROR);
    log_write(LOG_WARNING, "quiet", "now");
    log_write(LOG_ERROR, "loud", "number %d", 7);
    log_set_level(LOG_OFF);
    log_write(LOG_ERROR, "quiet", "too");
    log_set_level(LOG_INFO);
    CHECK_STR(without_time(restore(text, sizeof(text))), "error loud msg=\"number 7\"\n");
}

TEST(a_line_that_is_too_long_is_cut_but_still_one_line)
{
    static char value[10000];
    static char text[32768];

    memset(value, 'v', sizeof(value));
    for (size_t len = 3900; len < sizeof(value); len += len < 4200 ? 1 : 500) {
        struct log_line line;
        struct str got;

        divert();
        log_begin(&line, LOG_INFO, "e");
        log_str(&line, "v", str_from(value, len));
        log_str(&line, "w", STR_LIT("a b"));
        log_end(&line);
        got = restore(text, sizeof(text));
        CHECK(got.len > 0 && got.len <= 4096);
        CHECK(memchr(got.data, '\n', got.len) == got.data + got.len - 1);
    }
}
