/* test_schema.c - the JSON Schema that shapes print. */
#include "shape/schema.h"

#include <yyjson.h>

#include "all_shapes.h"
#include "features/agents/shapes.h"
#include "features/events/shapes.h"
#include "features/kpis/report_shapes.h"
#include "test.h"

static const struct field *find_field(const struct shape *shape, const char *name)
{
    for (size_t i = 0; i < shape->n_fields; i++)
        if (strcmp(shape->fields[i].name, name) == 0)
            return &shape->fields[i];
    return NULL;
}

static yyjson_doc *read_schema(const struct shape *shape)
{
    yyjson_doc *doc;
    struct buf out;

    buf_init(&out, MIB(1));
    shape_write_schema(shape, &out);
    doc = yyjson_read(out.data, out.len, 0);
    buf_done(&out);
    return doc;
}

static bool is_listed(yyjson_val *names, const char *name)
{
    yyjson_val *value;
    size_t i, n;

    yyjson_arr_foreach(names, i, n, value)
    {
        if (yyjson_equals_str(value, name))
            return true;
    }
    return false;
}

TEST(every_schema_is_json_and_names_every_field_once)
{
    struct schema_set all = { 0 };

    all_shapes(SHAPE_BODY | SHAPE_QUERY | SHAPE_PATH | SHAPE_ANSWER, &all);
    for (size_t s = 0; s < all.n; s++) {
        const struct shape *shape = all.items[s];
        yyjson_doc *doc = read_schema(shape);
        yyjson_val *root = yyjson_doc_get_root(doc), *properties, *required;

        CHECK(doc != NULL);
        CHECK_STR(str_of(yyjson_get_str(yyjson_obj_get(root, "title"))), shape->name);
        properties = yyjson_obj_get(root, "properties");
        required = yyjson_obj_get(root, "required");
        CHECK_INT(yyjson_obj_size(properties), shape->n_fields);
        CHECK(required == NULL || yyjson_arr_size(required) > 0);
        for (size_t i = 0; i < shape->n_fields; i++) {
            const struct field *field = &shape->fields[i];
            yyjson_val *property = yyjson_obj_get(properties, field->name);

            CHECK(property != NULL);
            CHECK_INT(is_listed(required, field->name), (field->flags & F_REQUIRED) != 0);
        }
        yyjson_doc_free(doc);
    }
}

TEST(every_reference_leads_to_a_shape_of_the_set)
{
    struct schema_set all = { 0 };

    all_shapes(SHAPE_BODY | SHAPE_QUERY | SHAPE_PATH | SHAPE_ANSWER, &all);
    for (size_t s = 0; s < all.n; s++) {
        struct schema_set set = { 0 };

        schema_set_add(&set, all.items[s]);
        CHECK(set.items[0] == all.items[s]);
        for (size_t i = 0; i < set.n; i++) {
            for (size_t f = 0; f < set.items[i]->n_fields; f++) {
                const struct shape *nested = set.items[i]->fields[f].nested;
                size_t at = 0;

                while (nested != NULL && at < set.n && set.items[at] != nested)
                    at++;
                CHECK(at < set.n);
            }
        }
    }
}

TEST(a_set_holds_a_shape_once)
{
    struct schema_set set = { 0 };

    schema_set_add(&set, &agent_register_shape);
    CHECK_INT(set.n, 5);
    schema_set_add(&set, &agent_register_shape);
    schema_set_add(&set, &io_field_shape);
    CHECK_INT(set.n, 5);
    schema_set_add(&set, &run_narrative_shape);
    CHECK_INT(set.n, 8);
}

/* In the words and the order of the documents that FastAPI prints, without descriptions. */
static const struct {
    const struct shape *shape;
    const char *name, *expected;
} rows[] = {
    { &telemetry_event_shape, "agent_version",
      "{\"type\":\"string\",\"maxLength\":256,\"title\":\"Agent Version\",\"default\":\"\"}" },
    { &telemetry_event_shape, "agent_name",
      "{\"type\":\"string\",\"maxLength\":256,\"minLength\":1,\"title\":\"Agent Name\"}" },
    { &telemetry_event_shape, "run_id",
      "{\"type\":\"string\",\"format\":\"uuid\",\"title\":\"Run Id\"}" },
    { &telemetry_event_shape, "event",
      "{\"type\":\"string\",\"enum\":[\"started\",\"completed\",\"failed\",\"in_progress\"],"
      "\"title\":\"Event\"}" },
    { &telemetry_event_shape, "timestamp",
      "{\"type\":\"string\",\"format\":\"date-time\",\"title\":\"Timestamp\"}" },
    { &telemetry_event_shape, "error_type",
      "{\"anyOf\":[{\"type\":\"string\",\"maxLength\":256},{\"type\":\"null\"}],\"title\":\"Error "
      "Type\"}" },
    { &telemetry_event_shape, "metadata",
      "{\"additionalProperties\":{\"type\":\"string\"},\"type\":\"object\",\"maxProperties\":100,"
      "\"title\":\"Metadata\",\"default\":{}}" },
    { &telemetry_event_shape, "output",
      "{\"anyOf\":[{\"additionalProperties\":true,\"type\":\"object\"},{\"type\":\"null\"}],"
      "\"title\":\"Output\"}" },
    { &telemetry_event_shape, "links",
      "{\"items\":{\"type\":\"string\"},\"type\":\"array\",\"maxItems\":50,\"title\":\"Links\","
      "\"default\":[]}" },
    { &telemetry_batch_shape, "events",
      "{\"items\":{\"$ref\":\"#/components/schemas/"
      "TelemetryEvent\"},\"type\":\"array\",\"title\":\"Events\",\"default\":[]}" },
    { &business_telemetry_shape, "metrics",
      "{\"additionalProperties\":{\"anyOf\":[{\"type\":\"number\",\"format\":\"double\"},{\"type\":"
      "\"integer\",\"format\":\"int64\"},{\"type\":\"string\"}]},\"type\":\"object\","
      "\"maxProperties\":100,\"title\":\"Metrics\",\"default\":{}}" },
    { &business_breakdown_shape, "by",
      "{\"anyOf\":[{\"type\":\"string\"},{\"items\":{\"type\":\"string\"},\"type\":\"array\"}],"
      "\"title\":\"By\"}" },
    { &agent_register_shape, "config_schema",
      "{\"anyOf\":[{\"$ref\":\"#/components/schemas/ConfigSchemaDecl\"},{\"type\":\"null\"}]}" },
    { &agent_register_shape, "agent_name",
      "{\"type\":\"string\",\"minLength\":1,\"title\":\"Agent Name\"}" },
    { &runs_query_shape, "limit",
      "{\"type\":\"integer\",\"format\":\"int64\",\"maximum\":1000,\"minimum\":1,\"title\":"
      "\"Limit\",\"default\":50}" },
    { &run_narrative_shape, "run", "{\"$ref\":\"#/components/schemas/Run\"}" },
    { &run_summary_shape, "ended_at",
      "{\"anyOf\":[{\"type\":\"string\",\"format\":\"date-time\"},{\"type\":\"null\"}],\"title\":"
      "\"Ended At\"}" },
    { &stored_event_shape, "seq", "{\"type\":\"integer\",\"format\":\"int64\",\"title\":\"Seq\"}" },
};

TEST(a_field_is_printed_as_the_contract_has_it)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct field *field = find_field(rows[i].shape, rows[i].name);
        struct field undescribed;
        struct buf out;

        CHECK(field != NULL);
        undescribed = *field;
        undescribed.doc = NULL;
        buf_init(&out, MIB(1));
        schema_write_field(&undescribed, &out);
        CHECK_STR(buf_str(&out), rows[i].expected);
        buf_done(&out);
    }
}

TEST(a_value_that_may_be_anything_has_a_title_only)
{
    static const struct field field = { .name = "input", .type = T_JSON, .flags = F_NULL };
    struct buf out;

    buf_init(&out, MIB(1));
    schema_write_field(&field, &out);
    CHECK_STR(buf_str(&out), "{\"title\":\"Input\"}");
    buf_done(&out);
}

TEST(the_schemas_of_a_422_are_json)
{
    yyjson_doc *doc;
    struct buf out;

    buf_init(&out, MIB(1));
    buf_add_char(&out, '{');
    schema_write_validation_errors(&out);
    buf_add_char(&out, '}');
    doc = yyjson_read(out.data, out.len, 0);
    CHECK(doc != NULL);
    CHECK_INT(yyjson_obj_size(yyjson_doc_get_root(doc)), 2);
    yyjson_doc_free(doc);
    buf_done(&out);
}
