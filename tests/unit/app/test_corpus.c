/* test_corpus.c - the recorded requests of tests/contract/validation-corpus.json get the recorded
 * answers. */
#include <stdio.h>
#include <stdlib.h>

#include "base/datetime.h"
#include "base/mem.h"
#include "features/agents/shapes.h"
#include "features/cost/report_shapes.h"
#include "features/events/shapes.h"
#include "features/kpis/report_shapes.h"
#include "shape/json.h"
#include "shape/json_write.h"
#include "shape/problems.h"
#include "test.h"

enum source { BODY, QUERY, PATH };

struct target {
    const char *path; /* before the '?'; for PATH what stands before the run's id */
    enum source source;
    const struct shape *shape;
};

static const struct target targets[] = {
    { "/api/v1/telemetry", BODY, &telemetry_event_shape },
    { "/api/v1/telemetry/batch", BODY, &telemetry_batch_shape },
    { "/api/v1/telemetry/business", BODY, &business_telemetry_shape },
    { "/api/v1/telemetry/llm", BODY, &llm_usage_shape },
    { "/api/v1/agents/register", BODY, &agent_register_shape },
    { "/api/v1/agents/model", QUERY, &agent_query_shape },
    { "/api/v1/agents/document", QUERY, &agent_query_shape },
    { "/api/v1/agents/config", QUERY, &agent_query_shape },
    { "/api/v1/heartbeat", QUERY, &heartbeat_query_shape },
    { "/api/v1/tenants/acme/runs/", PATH, &run_path_shape },
};

/* Where our own decisions differ from what was recorded. */
static const struct {
    const char *id, *answer;
} decided_otherwise[] = {
    { "datetime-76", /* a number as timestamp, however large */
      "{\"detail\":[{\"type\":\"datetime_type\",\"loc\":[\"body\",\"timestamp\"],"
      "\"msg\":\"Input should be a valid datetime\",\"input\":-1000000000000000000}]}" },
    { "json-invalid-64", /* nesting is bounded */
      "{\"detail\":[{\"type\":\"json_invalid\",\"loc\":[\"body\",64],"
      "\"msg\":\"JSON decode error\",\"input\":{},\"ctx\":{\"error\":\"Too deeply nested\"}}]}" },
};

/* What every accepted body of the corpus has in common; the rest is what its case is about. */
static const char *const usual[][2] = {
    { "agent_name", "\"a\"" },
    { "client_id", "\"c\"" },
    { "run_id", "\"3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5b\"" },
    { "event", "\"started\"" },
    { "timestamp", "\"2025-01-02T03:04:05Z\"" },
    { "model", "\"m\"" },
};

struct tally {
    int refused, accepted, values, inputs_left_out, skipped;
};

static struct str load(struct arena *arena, const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = arena_alloc(arena, MIB(1));
    size_t len;

    if (file == NULL)
        return STR_NULL;
    len = fread(text, 1, MIB(1), file);
    (void)fclose(file);
    CHECK(len > 0 && len < MIB(1));
    return str_from(text, len);
}

static struct str member(yyjson_val *object, const char *name)
{
    yyjson_val *value = yyjson_obj_get(object, name);

    return yyjson_is_str(value) ? json_str(value) : STR_NULL;
}

static const struct target *find_target(struct str path)
{
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        struct str known = str_of(targets[i].path);

        if (targets[i].source == PATH ? str_starts(path, known) : str_eq(path, known))
            return &targets[i];
    }
    return NULL;
}

static int read_case(const struct target *target, yyjson_val *test, struct arena *arena, void *ret,
                     struct problems **problems)
{
    static const char *const sources[] = { "body", "query", "path" };
    struct str query = member(test, "path"), path = str_split(&query, '?');

    *problems = problems_new(arena, sources[target->source]);
    if (target->source == BODY)
        return shape_read_json(target->shape, member(test, "body"), arena, ret, *problems);
    if (target->source == QUERY)
        return shape_read_query(target->shape, query, arena, ret, *problems);
    path = str_from(path.data + strlen(target->path), path.len - strlen(target->path));
    return shape_read_path(
        target->shape,
        &(struct path_values){ (struct str[]){ STR_LIT("slug"), STR_LIT("run_id") },
                               (struct str[]){ STR_LIT("acme"), str_split(&path, '/') }, 2 },
        arena, ret, *problems);
}

/* The recorded problems as we spell JSON, without the inputs that are too long to echo. */
static void add_expected(yyjson_val *detail, struct arena *arena, struct buf *out,
                         struct tally *tally)
{
    yyjson_arr_iter items = yyjson_arr_iter_with(detail);
    yyjson_val *item, *name;

    buf_add_c(out, "{\"detail\":[");
    while ((item = yyjson_arr_iter_next(&items)) != NULL) {
        yyjson_obj_iter members = yyjson_obj_iter_with(item);
        bool first = true;

        buf_add_c(out, out->data[out->len - 1] == '[' ? "{" : ",{");
        while ((name = yyjson_obj_iter_next(&members)) != NULL) {
            struct str text = json_write_text(yyjson_obj_iter_get_val(name), false, arena);

            if (str_eq_c(json_str(name), "input") && text.len > PROBLEM_INPUT_MAX) {
                tally->inputs_left_out++;
                continue;
            }
            if (!first)
                buf_add_char(out, ',');
            first = false;
            buf_add_json(out, json_str(name));
            buf_add_char(out, ':');
            buf_add(out, text);
        }
        buf_add_char(out, '}');
    }
    buf_add_c(out, "]}");
}

static void check_refused(yyjson_val *test, const struct problems *problems, struct arena *arena,
                          struct tally *tally)
{
    yyjson_val *expect = yyjson_obj_get(test, "expect");
    struct str expected = member(expect, "response_text");
    struct buf want, got;

    buf_init(&want, MIB(1));
    buf_init(&got, MIB(1));
    for (size_t i = 0; i < COUNT_OF(decided_otherwise); i++) {
        if (str_eq_c(member(test, "id"), decided_otherwise[i].id))
            expected = str_of(decided_otherwise[i].answer);
    }
    if (str_is_null(expected))
        add_expected(yyjson_obj_get(expect, "detail"), arena, &want, tally);
    else
        buf_add(&want, expected);
    buf_add_char(&want, '\0');
    problems_write(problems, &got);
    CHECK_STR(buf_str(&got), want.data);
    buf_done(&want);
    buf_done(&got);
}

/* Numbers by value; `by` is kept as an array when it was sent as a string. */
static bool is_same(yyjson_val *got, yyjson_val *want)
{
    size_t at, max;
    yyjson_val *name, *value;

    if (yyjson_is_num(want))
        return yyjson_is_num(got) && yyjson_get_num(got) == yyjson_get_num(want);
    if (yyjson_is_str(want) && yyjson_is_arr(got) && yyjson_arr_size(got) == 1)
        return is_same(yyjson_arr_get_first(got), want);
    if (yyjson_get_type(got) != yyjson_get_type(want))
        return false;
    if (yyjson_is_str(want))
        return str_eq(json_str(got), json_str(want));
    if (yyjson_is_bool(want))
        return yyjson_get_bool(got) == yyjson_get_bool(want);
    if (yyjson_get_len(got) != yyjson_get_len(want))
        return false;
    yyjson_arr_foreach(want, at, max, value)
    {
        if (!is_same(yyjson_arr_get(got, at), value))
            return false;
    }
    yyjson_obj_foreach(want, at, max, name, value)
    {
        if (!is_same(yyjson_obj_getn(got, json_str(name).data, json_str(name).len), value))
            return false;
    }
    return true;
}

static bool is_as_recorded(yyjson_val *got, yyjson_val *want)
{
    struct str text;

    if (yyjson_obj_get(want, "!str_len") != NULL)
        return (int64_t)utf8_count(json_str(got)) ==
               yyjson_get_sint(yyjson_obj_get(want, "!str_len"));
    if (yyjson_obj_get(want, "!dict_len") != NULL)
        return (int64_t)yyjson_obj_size(got) == yyjson_get_sint(yyjson_obj_get(want, "!dict_len"));
    if (yyjson_obj_get(want, "!list_len") != NULL)
        return (int64_t)yyjson_arr_size(got) == yyjson_get_sint(yyjson_obj_get(want, "!list_len"));
    text = member(want, "!uuid");
    if (!str_is_null(text))
        return str_eq(json_str(got), text);
    text = member(want, "!datetime");
    if (!str_is_null(text)) {
        int64_t moment, recorded;

        return datetime_parse(text, &recorded) == NULL &&
               datetime_parse(json_str(got), &moment) == NULL && moment == recorded;
    }
    return is_same(got, want);
}

/* The last member of a body that is not one of the usual ones. */
static struct str changed_member(yyjson_val *body, struct arena *arena)
{
    yyjson_obj_iter members = yyjson_obj_iter_with(body);
    struct str changed = STR_NULL;
    yyjson_val *name;

    while ((name = yyjson_obj_iter_next(&members)) != NULL) {
        struct str text = json_write_text(yyjson_obj_iter_get_val(name), false, arena);
        bool is_usual = false;

        for (size_t i = 0; i < COUNT_OF(usual); i++)
            is_usual |= str_eq_c(json_str(name), usual[i][0]) && str_eq_c(text, usual[i][1]);
        if (!is_usual)
            changed = json_str(name);
    }
    return changed;
}

/* The value as we would answer it is the one that the recorded service took. */
static void check_accepted(const struct target *target, yyjson_val *test, const void *value,
                           struct arena *arena, struct tally *tally)
{
    yyjson_val *expect = yyjson_obj_get(test, "expect");
    yyjson_val *echo = yyjson_obj_get(expect, "body");
    yyjson_val *accepted = yyjson_obj_get(expect, "accepted_as");
    struct json_doc written, body;
    struct json_fault fault;
    struct str changed;
    struct buf out;

    if (echo == NULL && accepted == NULL)
        return;
    buf_init(&out, MIB(1));
    shape_write_json(target->shape, value, &out);
    CHECK_INT(json_read(buf_str(&out), arena, &written, &fault), 0);
    if (echo != NULL) {
        changed = json_str(unsafe_yyjson_get_first(echo));
        accepted = yyjson_obj_getn(echo, changed.data, changed.len);
    } else {
        CHECK_INT(json_read(member(test, "body"), arena, &body, &fault), 0);
        changed = changed_member(body.root, arena);
    }
    CHECK(!str_is_null(changed));
    CHECK(is_as_recorded(yyjson_obj_getn(written.root, changed.data, changed.len), accepted));
    tally->values++;
    buf_done(&out);
}

static void run_case(yyjson_val *test, struct tally *tally)
{
    int64_t status = yyjson_get_sint(yyjson_obj_get(yyjson_obj_get(test, "expect"), "status"));
    struct str id = member(test, "id"), rest = member(test, "path"), path = str_split(&rest, '?');
    const struct target *target = find_target(path);
    struct problems *problems;
    struct arena arena;
    void *value;
    int r;

    /* Tokens and methods are no matter of shapes; health has none. */
    if (status == 401 || status == 405 || str_eq_c(path, "/api/v1/health")) {
        tally->skipped++;
        return;
    }
    print_message("%.*s\n", STR_ARG(id));
    CHECK(target != NULL);
    arena_init(&arena);
    value = mem_new(target->shape->size);
    r = read_case(target, test, &arena, value, &problems);
    CHECK((r == 0) == (problems->n == 0));
    CHECK_INT(r, status == 422 ? -1 : 0);
    if (r != 0)
        check_refused(test, problems, &arena, tally);
    else
        check_accepted(target, test, value, &arena, tally);
    tally->refused += r != 0;
    tally->accepted += r == 0;
    free(value);
    arena_done(&arena);
}

TEST(recorded_requests_get_the_recorded_answers)
{
    struct tally tally = { 0 };
    struct json_fault fault;
    struct json_doc corpus;
    struct arena arena;
    yyjson_val *cases;

    arena_init(&arena);
    CHECK_INT(json_read(load(&arena, TESTS_DIR "/contract/validation-corpus.json"), &arena, &corpus,
                        &fault),
              0);
    cases = yyjson_obj_get(corpus.root, "cases");
    CHECK_INT(yyjson_arr_size(cases), 279);
    for (size_t i = 0; i < 279; i++)
        run_case(yyjson_arr_get(cases, i), &tally);
    CHECK_INT(tally.refused, 206);
    CHECK_INT(tally.accepted, 66);
    CHECK_INT(tally.skipped, 7);
    CHECK_INT(tally.values, 61);
    CHECK_INT(tally.inputs_left_out, 1);
    arena_done(&arena);
}
