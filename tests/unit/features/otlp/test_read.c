/* test_read.c - the readers of both encodings, and the meaning of token counts. */
#include "features/otlp/records.h"

#include <stdio.h>

#include "base/digest.h"
#include "features/otlp/known.h"
#include "features/otlp/wire.h"
#include "test.h"

struct seen {
    size_t n, most;
    struct buf names, values, why;
    const char *flaw;
};

static bool on_span(void *ctx, const struct otlp_span *span)
{
    struct seen *seen = ctx;

    if (seen->n == seen->most)
        return false;
    seen->n++;
    seen->flaw = span->flaw;
    buf_add(&seen->names, span->name);
    buf_add_char(&seen->names, span->has_parent ? '-' : '.');
    if (!otlp_attributes_write(span->attributes.items, span->attributes.n, &seen->values))
        seen->flaw = OTLP_FLAW_NESTED;
    return true;
}

static enum otlp_result read_spans(enum otlp_encoding encoding, struct str body, struct seen *seen)
{
    struct arena arena;
    struct str why = STR_LIT("");
    const struct otlp_sink sink = { .ctx = seen, .arena = &arena, .on_span = on_span, .why = &why };
    enum otlp_result result;

    arena_init(&arena);
    buf_clear(&seen->names);
    buf_clear(&seen->values);
    seen->n = 0;
    result = otlp_read(OTLP_SPANS, encoding, body, &sink);
    buf_clear(&seen->why);
    buf_add(&seen->why, why);
    arena_done(&arena);
    return result;
}

static void seen_init(struct seen *seen, size_t most)
{
    *seen = (struct seen){ .most = most };
    digest_init();
    buf_init(&seen->names, MIB(1));
    buf_init(&seen->values, MIB(1));
    buf_init(&seen->why, MIB(1));
}

static void seen_done(struct seen *seen)
{
    buf_done(&seen->names);
    buf_done(&seen->values);
    buf_done(&seen->why);
}

/* Puts what `out` has as field `n` of another message. */
static void wrap(struct buf *out, unsigned n)
{
    struct buf whole;

    buf_init(&whole, MIB(1));
    wire_add_bytes(&whole, n, buf_str(out));
    buf_clear(out);
    buf_add(out, buf_str(&whole));
    buf_done(&whole);
}

/* A request of one span whose only attribute has this AnyValue. */
static void request_of_value(struct str any_value, struct buf *out)
{
    buf_clear(out);
    wire_add_bytes(out, 1, STR_LIT("k"));
    wire_add_bytes(out, 2, any_value);
    for (unsigned i = 0; i < 4; i++)
        wrap(out, (const unsigned[]){ 9, 2, 2, 1 }[i]);
}

TEST(json_is_read_as_its_mapping_says)
{
    static const char text[] =
        "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":["
        "{\"name\":\"a\",\"parentSpanId\":\"0000000000000001\",\"unknown\":[{}],\"attributes\":["
        "{\"key\":\"i\",\"value\":{\"intValue\":\"-9223372036854775808\"}},"
        "{\"key\":\"j\",\"value\":{\"intValue\":7}},"
        "{\"key\":\"d\",\"value\":{\"doubleValue\":\"NaN\"}},"
        "{\"key\":\"n\",\"value\":{}},{\"key\":\"m\",\"value\":{\"kvlistValue\":{\"values\":["
        "{\"key\":\"x\",\"value\":{\"arrayValue\":{\"values\":[{\"boolValue\":true}]}}}]}}}]},"
        "{\"name\":\"b\",\"parentSpanId\":\"\",\"status\":null,\"attributes\":null}]}]}]}";
    struct seen seen;

    seen_init(&seen, 10);
    CHECK_INT(read_spans(OTLP_JSON, STR_LIT(text), &seen), OTLP_READ);
    CHECK_STR(buf_str(&seen.names), "a-b.");
    CHECK_STR(buf_str(&seen.values), "{\"i\":-9223372036854775808,\"j\":7,\"d\":\"NaN\",\"n\":null,"
                                     "\"m\":{\"x\":[true]}}{}");
    CHECK(seen.flaw == NULL);
    seen_done(&seen);
}

TEST(a_member_of_another_type_is_malformed_and_its_path_is_named)
{
#define INTEGER "a 64-bit integer, as a number or as digits in a string"
    static const struct {
        const char *member, *why;
    } cases[] = {
        { "\"name\":1", "name should be a string" },
        { "\"kind\":\"SPAN_KIND_SERVER\"", "kind should be " INTEGER },
        { "\"kind\":1.5", "kind should be " INTEGER },
        { "\"traceId\":[]", "traceId should be a string" },
        { "\"startTimeUnixNano\":\"18446744073709551616\"",
          "startTimeUnixNano should be " INTEGER },
        { "\"startTimeUnixNano\":\"\"", "startTimeUnixNano should be " INTEGER },
        { "\"attributes\":{}", "attributes should be an array" },
        { "\"attributes\":[1]", "attributes[0] should be an object" },
        { "\"attributes\":[{},{\"value\":{\"boolValue\":1}}]",
          "attributes[1].value.boolValue should be true or false" },
        { "\"attributes\":[{\"value\":{\"bytesValue\":\"!\"}}]",
          "attributes[0].value.bytesValue should be bytes in base64" },
        { "\"events\":[7]", "events[0] should be an object" },
        { "\"status\":[]", "status should be an object" },
    };
    char text[256], why[256];
    struct seen seen;

    seen_init(&seen, 10);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        (void)snprintf(text, sizeof(text),
                       "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{},{%s}]}]}]}",
                       cases[i].member);
        (void)snprintf(why, sizeof(why), "resourceSpans[0].scopeSpans[0].spans[1].%s",
                       cases[i].why);
        if (read_spans(OTLP_JSON, str_of(text), &seen) != OTLP_MALFORMED)
            fail_msg("%s", cases[i].member);
        CHECK_STR(buf_str(&seen.why), why);
    }
    CHECK_INT(read_spans(OTLP_JSON, STR_LIT("[]"), &seen), OTLP_MALFORMED);
    CHECK_STR(buf_str(&seen.why), "the body should be an object");
    CHECK_INT(read_spans(OTLP_JSON, STR_LIT("{\"a\":}"), &seen), OTLP_MALFORMED);
    CHECK_STR(buf_str(&seen.why), "Expecting value at character 5");
    seen_done(&seen);
}

TEST(a_parent_of_zeroes_is_no_parent)
{
    struct buf body;
    struct seen seen;

    seen_init(&seen, 10);
    CHECK_INT(read_spans(OTLP_JSON,
                         STR_LIT("{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":["
                                 "{\"name\":\"a\",\"parentSpanId\":\"0000000000000000\"},"
                                 "{\"name\":\"b\",\"parentSpanId\":\"00\"},"
                                 "{\"name\":\"c\",\"parentSpanId\":\"0000000000000010\"}]}]}]}"),
                         &seen),
              OTLP_READ);
    CHECK_STR(buf_str(&seen.names), "a.b-c-");
    buf_init(&body, KIB(1));
    wire_add_bytes(&body, 4, STR_LIT("\0\0\0\0\0\0\0\0"));
    wire_add_bytes(&body, 5, STR_LIT("a"));
    for (unsigned i = 0; i < 3; i++)
        wrap(&body, (const unsigned[]){ 2, 2, 1 }[i]);
    CHECK_INT(read_spans(OTLP_PROTOBUF, buf_str(&body), &seen), OTLP_READ);
    CHECK_STR(buf_str(&seen.names), "a.");
    buf_done(&body);
    seen_done(&seen);
}

TEST(a_resource_that_follows_its_spans_is_read_first)
{
    /* ScopeSpans (2) before Resource (1), and a span before its scope: the order is free. */
    struct buf body;
    struct seen seen;

    seen_init(&seen, 1);
    buf_init(&body, KIB(1));
    wire_add_bytes(&body, 5, STR_LIT("late"));
    wrap(&body, 2);
    wire_add_bytes(&body, 1, STR_LIT("\n\x01s"));
    wrap(&body, 2);
    wire_add_bytes(&body, 1, STR_LIT(""));
    wrap(&body, 1);
    CHECK_INT(read_spans(OTLP_PROTOBUF, buf_str(&body), &seen), OTLP_READ);
    CHECK_STR(buf_str(&seen.names), "late.");
    wrap(&body, 1);
    CHECK_INT(read_spans(OTLP_PROTOBUF, STR_LIT("\x0a\x02\x12\x05"), &seen), OTLP_MALFORMED);
    buf_done(&body);
    seen_done(&seen);
}

TEST(nested_values_have_a_depth_that_is_bounded)
{
    struct buf value, body;
    struct seen seen;

    seen_init(&seen, 1);
    buf_init(&value, KIB(64));
    buf_init(&body, KIB(64));
    buf_add(&value, STR_LIT("\x18\x07")); /* the integer 7 */
    for (unsigned depth = 2; depth <= OTLP_DEPTH_MAX + 1; depth++) {
        wrap(&value, 1);
        wrap(&value, 5);
        request_of_value(buf_str(&value), &body);
        seen.flaw = NULL;
        CHECK_INT(read_spans(OTLP_PROTOBUF, buf_str(&body), &seen), OTLP_READ);
        CHECK((seen.flaw == NULL) == (depth <= OTLP_DEPTH_MAX));
    }
    buf_done(&value);
    buf_done(&body);
    seen_done(&seen);
}

TEST(of_several_values_the_last_counts)
{
    struct buf body;
    struct seen seen;

    seen_init(&seen, 1);
    buf_init(&body, KIB(1));
    request_of_value(STR_LIT("\x18\x07\x0a\x01x\x2a\x02\x0a\x00\x3a\x03"
                             "abc"),
                     &body);
    CHECK_INT(read_spans(OTLP_PROTOBUF, buf_str(&body), &seen), OTLP_READ);
    CHECK_STR(buf_str(&seen.values), "{\"k\":\"YWJj\"}");
    request_of_value(STR_LIT("\x3a\x03"
                             "abc\x18\x07"),
                     &body);
    CHECK_INT(read_spans(OTLP_PROTOBUF, buf_str(&body), &seen), OTLP_READ);
    CHECK_STR(buf_str(&seen.values), "{\"k\":7}");
    buf_done(&body);
    seen_done(&seen);
}

TEST(the_sink_stops_the_reader)
{
    static const char text[] = "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{},{},{}]}]}]}";
    struct seen seen;

    seen_init(&seen, 2);
    CHECK_INT(read_spans(OTLP_JSON, STR_LIT(text), &seen), OTLP_STOPPED);
    CHECK_INT(seen.n, 2);
    seen_done(&seen);
}

static struct otlp_attribute named(const char *key, const char *text)
{
    return (struct otlp_attribute){ str_of(key), { .kind = OTLP_TEXT, .text = str_of(text) } };
}

TEST(the_preferred_name_of_an_attribute_wins_whatever_their_order)
{
    const struct otlp_attribute attributes[] = { named("llm.model_name", "c"),
                                                 named("gen_ai.response.model", "a"),
                                                 named("gen_ai.request.model", "b") };
    struct known_values known;

    known_find(attributes, 3, &known);
    CHECK_STR(known_text(&known, KNOWN_MODEL), "a");
    known_find(attributes + 2, 1, &known);
    CHECK_STR(known_text(&known, KNOWN_MODEL), "b");
    CHECK(str_is_null(known_text(&known, KNOWN_AGENT)));
    CHECK_INT(known_count(&known, KNOWN_MODEL), -1);
}

/* What ends too early, is too large or has no such type. */
TEST(malformed_protobuf_is_refused)
{
#define BYTES(text) { text, sizeof(text) - 1 }
    static const struct {
        const char *data;
        size_t len;
    } bad[] = {
        BYTES("\x08"),
        BYTES("\x08\x80"),
        BYTES("\x0a\x05hi"),
        BYTES("\x09\x01\x02"),
        BYTES("\x0d\x01\x02"),
        BYTES("\x0b"),
        BYTES("\x0c"),
        BYTES("\x00\x01"),
        BYTES("\x0e\x01"),
        BYTES("\x80"),
        BYTES("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
        BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
    };
    struct seen seen;

    seen_init(&seen, 1);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        CHECK_INT(read_spans(OTLP_PROTOBUF, str_from(bad[i].data, bad[i].len), &seen),
                  OTLP_MALFORMED);
    CHECK_INT(read_spans(OTLP_PROTOBUF,
                         str_from("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11), &seen),
              OTLP_READ);
    seen_done(&seen);
}
