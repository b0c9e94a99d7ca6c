/* test_check.c - what a shape takes and refuses beyond what the recorded requests show. */
#include <stdarg.h>
#include <stdio.h>

#include "features/events/shapes.h"
#include "features/kpis/shapes.h"
#include "shape/json.h"
#include "shape/problems.h"
#include "shape/table.h"
#include "test.h"

#define BASE                                                                                       \
    "\"agent_name\":\"a\",\"client_id\":\"c\",\"run_id\":\"3f2b8c1e-9a4d-4e6f-8b7a-"               \
    "0c1d2e3f4a5b\","                                                                              \
    "\"event\":\"started\",\"timestamp\":\"2025-01-02T03:04:05Z\""
#define REPORT                                                                                     \
    "\"agent_name\":\"a\",\"run_id\":\"3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5b\","                    \
    "\"timestamp\":\"2025-01-02T03:04:05Z\""
#define UNICODE_MSG                                                                                \
    "\"msg\":\"Input should be a valid string, unable to parse raw data as a unicode string\""

struct reading {
    struct arena arena;
    struct problems *problems;
    struct buf out; /* the 422 */
    int result;
};

static void read_into(struct reading *r, const struct shape *shape, struct str body, void *ret)
{
    arena_init(&r->arena);
    buf_init(&r->out, MIB(8));
    r->problems = problems_new(&r->arena, "body");
    r->result = shape_read_json(shape, body, &r->arena, ret, r->problems);
    problems_write(r->problems, &r->out);
}

static void done(struct reading *r)
{
    buf_done(&r->out);
    arena_done(&r->arena);
}

/* `items` are those of the detail array. */
static void check_refused(const struct shape *shape, void *value, const char *body,
                          const char *items)
{
    struct reading r;

    read_into(&r, shape, str_of(body), value);
    CHECK_INT(r.result, -1);
    CHECK_STR(buf_str(&r.out), arena_printf(&r.arena, "{\"detail\":[%s]}", items).data);
    done(&r);
}

static void check_event(const char *body, const char *items)
{
    struct telemetry_event event;

    check_refused(&telemetry_event_shape, &event, body, items);
}

static void check_report(const char *body, const char *items)
{
    struct business_telemetry report;

    check_refused(&business_telemetry_shape, &report, body, items);
}

/* An event with one more member has one problem; both are printed. */
static void PRINTF(2, 3) check_member(const char *member, const char *problem, ...)
{
    char items[1024];
    struct arena arena;
    va_list args;

    va_start(args, problem);
    (void)vsnprintf(items, sizeof(items), problem, args);
    va_end(args);
    arena_init(&arena);
    check_event(arena_printf(&arena, "{" BASE ",%s}", member).data, items);
    arena_done(&arena);
}

TEST(nul_and_lone_surrogates_are_refused_in_every_string)
{
    static const char *const rows[][2] = {
        { "\"message\":\"a\\u0000b\"", "\"message\"" },
        { "\"message\":\"\\ud800\"", "\"message\"" },
        { "\"error_type\":\"\\udc00\"", "\"error_type\"" },
        { "\"run_id\":\"3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5\\u0000\"", "\"run_id\"" },
        { "\"event\":\"started\\u0000\"", "\"event\"" },
        { "\"timestamp\":\"2025-01-02T03:04:05Z\\u0000\"", "\"timestamp\"" },
        { "\"metadata\":{\"k\":\"\\u0000\"}", "\"metadata\",\"k\"" },
        { "\"metadata\":{\"k\\u0000\":\"v\"}", "\"metadata\",\"k\\u0000\",\"[key]\"" },
        { "\"metrics\":{\"\\ud800\":1}", "\"metrics\",\"\\u0000\",\"[key]\"" },
        { "\"links\":[\"a\",\"\\u0000\"]", "\"links\",1" },
        { "\"output\":{\"a\":[{\"b\":\"\\u0000\"}]}", "\"output\",\"a\",0,\"b\"" },
        { "\"output\":{\"a\":{\"\\u0000\":1}}", "\"output\",\"a\",\"\\u0000\",\"[key]\"" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check_member(rows[i][0],
                     "{\"type\":\"string_unicode\",\"loc\":[\"body\",%s]," UNICODE_MSG "}",
                     rows[i][1]);
}

TEST(an_unknown_field_may_hold_what_known_ones_may_not)
{
    struct telemetry_event event;
    struct reading r;

    read_into(&r, &telemetry_event_shape,
              str_of("{" BASE ",\"x\":\"\\u0000\",\"y\\u0000\":[1e400,\"\\ud800\"]}"), &event);
    CHECK_INT(r.result, 0);
    done(&r);
}

TEST(integers_keep_to_64_bits)
{
    check_event(
        "{" BASE ",\"seq\":9223372036854775808}",
        "{\"type\":\"less_than_equal\",\"loc\":[\"body\",\"seq\"],\"msg\":\"Input should be "
        "less than or equal to 9223372036854775807\",\"input\":9223372036854775808,"
        "\"ctx\":{\"le\":9223372036854775807}}");
    check_event(
        "{" BASE ",\"seq\":-9223372036854775809}",
        "{\"type\":\"greater_than_equal\",\"loc\":[\"body\",\"seq\"],\"msg\":\"Input should "
        "be greater than or equal to -9223372036854775808\",\"input\":-9223372036854775809,"
        "\"ctx\":{\"ge\":-9223372036854775808}}");
    check_event("{" BASE ",\"seq\":-9223372036854775808.0}",
                "{\"type\":\"int_parsing_size\",\"loc\":[\"body\",\"seq\"],\"msg\":\"Unable to "
                "parse input string as an integer, exceeded maximum size\","
                "\"input\":-9223372036854776000.0}");
}

TEST(the_ends_of_64_bits_are_integers)
{
    struct telemetry_event event;
    struct reading r;

    read_into(&r, &telemetry_event_shape,
              str_of("{" BASE ",\"seq\":-9223372036854775808,\"duration_ms\":9223372036854775807}"),
              &event);
    CHECK_INT(r.result, 0);
    CHECK(event.seq == INT64_MIN);
    CHECK(event.duration_ms.has && event.duration_ms.value == INT64_MAX);
    CHECK(!event.records_processed.has);
    done(&r);
}

TEST(what_is_not_finite_is_refused_where_it_would_be_stored)
{
    static const char *const rows[][2] = {
        { "\"seq\":1e400", "\"seq\"" },
        { "\"metrics\":{\"k\":-1e400}", "\"metrics\",\"k\"" },
        { "\"output\":{\"a\":[1,1e999]}", "\"output\",\"a\",1" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check_member(
            rows[i][0],
            "{\"type\":\"finite_number\",\"loc\":[\"body\",%s],\"msg\":\"Input should be a "
            "finite number\",\"input\":null}",
            rows[i][1]);
}

TEST(a_union_that_nothing_fits_lists_what_each_member_says)
{
    check_report("{" REPORT ",\"metrics\":{\"k\":1e400}}",
                 "{\"type\":\"finite_number\",\"loc\":[\"body\",\"metrics\",\"k\",\"float\"],"
                 "\"msg\":\"Input should be a finite number\",\"input\":null},"
                 "{\"type\":\"finite_number\",\"loc\":[\"body\",\"metrics\",\"k\",\"int\"],"
                 "\"msg\":\"Input should be a finite number\",\"input\":null},"
                 "{\"type\":\"string_type\",\"loc\":[\"body\",\"metrics\",\"k\",\"str\"],"
                 "\"msg\":\"Input should be a valid string\",\"input\":null}");
    check_report(
        "{" REPORT ",\"breakdowns\":[{\"metric\":\"m\",\"by\":[\"a\",5]}]}",
        "{\"type\":\"string_type\",\"loc\":[\"body\",\"breakdowns\",0,\"by\",\"str\"],"
        "\"msg\":\"Input should be a valid string\",\"input\":[\"a\",5]},"
        "{\"type\":\"string_type\",\"loc\":[\"body\",\"breakdowns\",0,\"by\",\"list[str]\","
        "1],\"msg\":\"Input should be a valid string\",\"input\":5}");
}

TEST(business_values_keep_their_kind)
{
    struct business_telemetry report;
    const struct named_value *v;
    struct reading r;

    read_into(&r, &business_telemetry_shape,
              str_of("{" REPORT ",\"metrics\":{\"i\":5,\"r\":5.0,\"s\":\"5\","
                     "\"big\":18446744073709551616,\"u\":9223372036854775808}}"),
              &report);
    CHECK_INT(r.result, 0);
    CHECK_INT(report.metrics.n, 5);
    v = report.metrics.items;
    CHECK(v[0].kind == VALUE_INT && v[0].integer == 5 && v[0].real == 5.0);
    CHECK(v[1].kind == VALUE_REAL && v[1].real == 5.0);
    CHECK(v[2].kind == VALUE_STR && str_eq_c(v[2].string, "5"));
    CHECK(v[3].kind == VALUE_REAL && v[3].real == 0x1p64);
    CHECK(v[4].kind == VALUE_REAL && v[4].real == 0x1p63);
    done(&r);
}

TEST(free_objects_are_stored_compact_and_without_duplicates)
{
    struct telemetry_event event;
    struct reading r;

    read_into(&r, &telemetry_event_shape,
              str_of("{" BASE ",\"output\" : { \"a\" : 1e5 , \"b\":[ ], \"a\":\"\\u00e9\" },"
                     "\"metadata\":{ \"k\" : \"v\" }, \"metrics\": {\"m\":1.50,\"n\":-0}, "
                     "\"links\":[ \"x\" ,\"y\"]}"),
              &event);
    CHECK_INT(r.result, 0);
    CHECK_STR(event.output, "{\"a\":\"\xc3\xa9\",\"b\":[]}");
    CHECK_STR(event.metadata, "{\"k\":\"v\"}");
    CHECK_STR(event.metrics, "{\"m\":1.5,\"n\":0}");
    CHECK_STR(event.links, "[\"x\",\"y\"]");
    done(&r);
}

TEST(what_is_absent_has_its_default)
{
    struct telemetry_event event;
    struct reading r;

    read_into(&r, &telemetry_event_shape, str_of("{" BASE "}"), &event);
    CHECK_INT(r.result, 0);
    CHECK_STR(event.level, "info");
    CHECK_STR(event.event_id, "");
    CHECK(!str_is_null(event.event_id));
    CHECK(str_is_null(event.error_type) && str_is_null(event.output));
    CHECK_STR(event.metadata, "{}");
    CHECK_STR(event.links, "[]");
    CHECK(event.seq == 0 && !event.duration_ms.has);
    CHECK_INT(event.event, EVENT_STARTED);
    done(&r);
}

TEST(a_null_body_is_no_body)
{
    static const char missing[] =
        "{\"type\":\"missing\",\"loc\":[\"body\"],\"msg\":\"Field required\",\"input\":null}";

    check_event("", missing);
    check_event("null", missing);
    check_event(" null ", missing);
}

/* A text and what is wrong with it. */
static void check_text(const char *name, const char *type, const char *msg,
                       const char *const row[2])
{
    char member[128];

    (void)snprintf(member, sizeof(member), "\"%s\":\"%s\"", name, row[0]);
    check_member(member,
                 "{\"type\":\"%s\",\"loc\":[\"body\",\"%s\"],\"msg\":\"%s, %s\",\"input\":\"%s\","
                 "\"ctx\":{\"error\":\"%s\"}}",
                 type, name, msg, row[1], row[0], row[1]);
}

TEST(a_date_alone_and_digits_are_no_time)
{
    static const char *const rows[][2] = {
        { "2025-01-02", "input is too short" },
        { "1735787045", "invalid date separator, expected `-`" },
        { "5", "input is too short" },
        { "0000-01-01", "input is too short" },
        { "0000-13-01T00:00:00Z", "month value is outside expected range of 1-12" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check_text("timestamp", "datetime_from_date_parsing",
                   "Input should be a valid datetime or date", rows[i]);
}

TEST(uuids_are_diagnosed_as_the_contract_does)
{
    static const char *const rows[][2] = {
        { "{3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5g}", "invalid character: found `g` at 36" },
        { "{3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5g0}", "invalid character: found `g` at 37" },
        { "urn:uuid:3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5g", "invalid character: found `g` at 36" },
        { "urn:uuid:x", "invalid character: found `x` at 10" },
        { "{}", "invalid group count: expected 5, found 1" },
        { "{", "invalid character: found `{` at 1" },
        { "{3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5b0}",
          "invalid group length in group 4: expected 12, found 15" },
        { "3f2b8c1e-9a4d-4e6f-8b7-0c1d2e3f4a5bb",
          "invalid group length in group 3: expected 4, found 3" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check_text("run_id", "uuid_parsing", "Input should be a valid UUID", rows[i]);
}

TEST(a_hundred_problems_are_listed_and_no_more)
{
    struct telemetry_batch batch;
    struct reading r;
    struct json_fault fault;
    struct json_doc doc;
    struct buf body;

    buf_init(&body, MIB(1));
    buf_add_c(&body, "{\"events\":[0");
    for (int i = 1; i < 1000; i++)
        buf_add_c(&body, i == 99 ? ",{}" : ",0"); /* five more, of which one is kept */
    buf_add_c(&body, "]}");
    read_into(&r, &telemetry_batch_shape, buf_str(&body), &batch);
    CHECK_INT(r.result, -1);
    CHECK_INT(r.problems->n, 100);
    CHECK_INT(json_read(buf_str(&r.out), &r.arena, &doc, &fault), 0);
    CHECK_INT(yyjson_arr_size(yyjson_obj_get(doc.root, "detail")), 100);
    buf_done(&body);
    done(&r);
}

TEST(an_input_over_4_kib_is_left_out)
{
    for (size_t len = PROBLEM_INPUT_MAX - 3; len <= PROBLEM_INPUT_MAX; len++) {
        struct telemetry_event event;
        struct reading r;
        struct buf body;
        bool echoed;

        buf_init(&body, MIB(1));
        buf_add_c(&body, "{" BASE ",\"category\":\"");
        for (size_t i = 0; i < len; i++)
            buf_add_char(&body, 'x');
        buf_add_c(&body, "\"}");
        read_into(&r, &telemetry_event_shape, buf_str(&body), &event);
        CHECK_INT(r.problems->n, 1);
        buf_add_char(&r.out, '\0');
        echoed = strstr(r.out.data, "\"input\":\"xxx") != NULL;
        CHECK(echoed == (len + 2 <= PROBLEM_INPUT_MAX));
        CHECK(strstr(r.out.data, "\"ctx\":{\"max_length\":256}") != NULL);
        buf_done(&body);
        done(&r);
    }
}

TEST(long_names_do_not_multiply_in_the_answer)
{
    struct telemetry_event event;
    struct reading r;
    struct buf body;

    buf_init(&body, MIB(2));
    buf_add_c(&body, "{" BASE ",\"output\":{\"");
    for (int i = 0; i < 500000; i++)
        buf_add_char(&body, 'n');
    buf_add_c(&body, "\":{\"k\":0");
    for (int i = 0; i < 200; i++)
        buf_printf(&body, ",\"%d\":\"\\u0000\"", i);
    buf_add_c(&body, "}}}");
    read_into(&r, &telemetry_event_shape, buf_str(&body), &event);
    CHECK_INT(r.result, -1);
    CHECK(r.problems->n > 0);
    CHECK(r.out.len < 2 * (size_t)PROBLEMS_TEXT_MAX && !r.out.overflown);
    buf_done(&body);
    done(&r);
}

struct inner {
    struct str key;
};

struct outer {
    struct inner *one;
    struct list many;
};

static void refuse_x(void *value, struct arena *arena, struct problems *problems)
{
    const struct inner *inner = value;

    (void)arena;
    if (str_eq_c(inner->key, "x"))
        problems_add_rule(problems,
                          (struct path_step[]){ { .name = STR_INIT("key") }, { .index = 7 } }, 2,
                          STR_LIT("\"x\""), "Not \"x\"");
}

static const struct field inner_fields[] = {
    { .name = "key", .type = T_STR, .offset = offsetof(struct inner, key), .flags = F_REQUIRED },
};
static const struct shape inner_shape = { .name = "Inner",
                                          .fields = inner_fields,
                                          .n_fields = 1,
                                          .size = sizeof(struct inner),
                                          .rules = refuse_x };
static const struct field outer_fields[] = {
    { .name = "one",
      .type = T_SHAPE,
      .offset = offsetof(struct outer, one),
      .nested = &inner_shape },
    { .name = "many",
      .type = T_LIST,
      .offset = offsetof(struct outer, many),
      .nested = &inner_shape },
};
static const struct shape outer_shape = {
    .name = "Outer", .fields = outer_fields, .n_fields = 2, .size = sizeof(struct outer)
};

TEST(a_rule_speaks_at_the_path_of_its_value)
{
    struct outer outer;

    check_refused(&outer_shape, &outer,
                  "{\"many\":[{\"key\":\"y\"},{\"key\":\"x\"}],\"one\":{\"key\":\"x\"}}",
                  "{\"type\":\"value_error\",\"loc\":[\"body\",\"one\",\"key\",7],"
                  "\"msg\":\"Value error, Not \\\"x\\\"\",\"input\":\"x\","
                  "\"ctx\":{\"error\":\"Not \\\"x\\\"\"}},"
                  "{\"type\":\"value_error\",\"loc\":[\"body\",\"many\",1,\"key\",7],"
                  "\"msg\":\"Value error, Not \\\"x\\\"\",\"input\":\"x\","
                  "\"ctx\":{\"error\":\"Not \\\"x\\\"\"}}");
}

struct ruled {
    struct str name, note;
    int64_t n;
};

/* Without its first letter; not "x". */
static const char *cut_and_refuse_x(struct str *text, struct arena *arena)
{
    (void)arena;
    *text = str_from(text->data + 1, text->len - 1);
    return str_eq_c(*text, "x") ? "Not x" : NULL;
}

/* clang-format off */
STATIC_SHAPE(ruled, "Ruled", (.row_rules = true),
    STR(name, .rule = cut_and_refuse_x, .flags = F_REQUIRED),
    STR(note, .rule = cut_and_refuse_x, .flags = F_NULL),
    INT(n,    .absent = "0"));
/* clang-format on */

TEST(the_rule_of_a_row_replaces_its_text_and_leaves_null)
{
    struct ruled ruled;
    struct reading r;

    read_into(&r, &ruled_shape, STR_LIT("{\"name\":\"abc\"}"), &ruled);
    CHECK_INT(r.result, 0);
    CHECK_STR(ruled.name, "bc");
    CHECK(str_is_null(ruled.note));
    done(&r);
}

TEST(the_rule_of_a_row_speaks_at_its_member_after_the_table)
{
    struct ruled ruled;

    check_refused(&ruled_shape, &ruled, "{\"name\":\"yx\",\"note\":\"zx\"}",
                  "{\"type\":\"value_error\",\"loc\":[\"body\",\"name\"],"
                  "\"msg\":\"Value error, Not x\",\"input\":\"x\",\"ctx\":{\"error\":\"Not x\"}},"
                  "{\"type\":\"value_error\",\"loc\":[\"body\",\"note\"],"
                  "\"msg\":\"Value error, Not x\",\"input\":\"x\",\"ctx\":{\"error\":\"Not x\"}}");
    check_refused(
        &ruled_shape, &ruled, "{\"name\":\"yx\",\"n\":\"no\"}",
        "{\"type\":\"int_parsing\",\"loc\":[\"body\",\"n\"],"
        "\"msg\":\"Input should be a valid integer, unable to parse string as an integer\","
        "\"input\":\"no\"}");
}

struct part {
    struct str name;
};

struct answer {
    struct str slug;
    int64_t agents, seen_at;
    struct part *part;
};

/* clang-format off */
STATIC_SHAPE(part, "Part", (),
    STR(name, .flags = F_REQUIRED));

STATIC_SHAPE(answer, "Answer", (),
    STR(slug,     .flags = F_REQUIRED),
    INT(agents,   .flags = F_REQUIRED),
    TIME(seen_at, .flags = F_REQUIRED | F_NULL),
    NESTED(part, struct part, part_shape, .flags = F_REQUIRED));
/* clang-format on */

static int read_answer(const char *body, struct answer *ret)
{
    struct arena arena;
    struct problems *problems;
    int result;

    arena_init(&arena);
    problems = problems_new(&arena, "body");
    problems->may_miss = true;
    result = shape_read_json(&answer_shape, str_of(body), &arena, ret, problems);
    arena_done(&arena);
    return result;
}

/* The answer of a server that is older than the command which asks it. */
TEST(newer_members_may_be_missing_but_not_all_and_no_nested_object)
{
    struct answer answer;

    CHECK_INT(read_answer("{\"agents\":3,\"part\":{\"name\":\"a\"}}", &answer), 0);
    CHECK_INT(answer.agents, 3);
    CHECK(str_is_null(answer.slug));
    CHECK(answer.seen_at == TIME_NULL);
    CHECK_INT(read_answer("{}", &answer), -1);
    CHECK_INT(read_answer("{\"error\":\"of a proxy\"}", &answer), -1);
    CHECK_INT(read_answer("{\"agents\":3}", &answer), -1);
    CHECK_INT(read_answer("{\"agents\":3,\"part\":{}}", &answer), -1);
    CHECK_INT(read_answer("{\"agents\":\"x\",\"part\":{\"name\":\"a\"}}", &answer), -1);
}
