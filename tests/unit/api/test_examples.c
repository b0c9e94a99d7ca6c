/* test_examples.c - examples are what the service itself would accept, and patterns say what rules
 * check. */
#include "all_shapes.h"

#include <regex.h>
#include <stdlib.h>
#include <yyjson.h>

#include "shape/problems.h"
#include "test.h"

#define HEAD_OF_A_LOG                                                                              \
    "mh1.3.17.9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b.0."                 \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

static struct str example_of(const struct shape *shape, struct arena *arena)
{
    struct buf text;
    struct str copy;

    buf_init(&text, MIB(1));
    schema_write_example(shape, arena, &text);
    copy = arena_copy(arena, buf_str(&text));
    buf_done(&text);
    return copy;
}

/* "" when the text is a value of the shape, with no other members; else what is wrong. */
static struct str problems_of(const struct shape *shape, struct str text, struct arena *arena)
{
    struct problems *problems = problems_new(arena, "body");
    void *value = arena_zalloc(arena, shape->size);
    struct str said = STR_LIT("");
    struct buf out;

    problems->strict = true;
    if (shape_read_json(shape, text, arena, value, problems) == 0)
        return said;
    buf_init(&out, MIB(4));
    problems_write(problems, &out);
    said = arena_copy(arena, buf_str(&out));
    buf_done(&out);
    return said;
}

TEST(every_example_is_a_value_of_its_shape)
{
    struct schema_set all = { 0 };
    struct arena arena;

    arena_init(&arena);
    all_shapes(SHAPE_BODY | SHAPE_QUERY | SHAPE_PATH | SHAPE_ANSWER, &all);
    CHECK(all.n > 100);
    for (size_t i = 0; i < all.n; i++) {
        struct str text = example_of(all.items[i], &arena);
        struct str said = problems_of(all.items[i], text, &arena);

        if (said.len > 0)
            fail_msg("the EXAMPLE() of %s: %.*s\n%.*s", all.items[i]->name, STR_ARG(text),
                     STR_ARG(said));
    }
    arena_done(&arena);
}

/* An example states nothing that its shape does not have: it would be dropped without a word. */
TEST(every_member_that_an_example_states_is_one_of_the_shape)
{
    struct schema_set all = { 0 };

    all_shapes(SHAPE_BODY | SHAPE_QUERY | SHAPE_PATH | SHAPE_ANSWER, &all);
    for (size_t i = 0; i < all.n; i++) {
        const char *text = all.items[i]->example;
        yyjson_doc *doc;
        size_t at, max;
        yyjson_val *name, *value;

        if (text == NULL)
            continue;
        doc = yyjson_read(text, strlen(text), 0);
        yyjson_obj_foreach(yyjson_doc_get_root(doc), at, max, name, value)
        {
            bool known = false;

            (void)value;
            for (size_t f = 0; f < all.items[i]->n_fields; f++)
                known |= strcmp(all.items[i]->fields[f].name, yyjson_get_str(name)) == 0;
            if (!known)
                fail_msg("the EXAMPLE() of %s states %s", all.items[i]->name, yyjson_get_str(name));
        }
        yyjson_doc_free(doc);
    }
}

/* The shape's example with other JSON at one member. */
static struct str changed_example(const struct shape *shape, const char *name, struct str json,
                                  struct arena *arena)
{
    struct str text = example_of(shape, arena), changed;
    yyjson_doc *doc = yyjson_read(text.data, text.len, 0);
    yyjson_doc *value = yyjson_read(json.data, json.len, 0);
    yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(copy);
    size_t len;
    char *out;

    yyjson_mut_obj_put(root, yyjson_mut_str(copy, name),
                       yyjson_val_mut_copy(copy, yyjson_doc_get_root(value)));
    out = yyjson_mut_write(copy, 0, &len);
    changed = arena_copy(arena, str_from(out, len));
    free(out);
    yyjson_mut_doc_free(copy);
    yyjson_doc_free(value);
    yyjson_doc_free(doc);
    return changed;
}

static struct str as_json(const char *text, struct arena *arena)
{
    struct buf out;
    struct str json;

    buf_init(&out, KIB(1));
    buf_add_json(&out, str_of(text));
    json = arena_copy(arena, buf_str(&out));
    buf_done(&out);
    return json;
}

/* Fits the pattern, but not what the example has at another member. */
static bool depends_on_others(const struct field *field, const char *candidate,
                              const struct shape *shape)
{
    return strcmp(shape->name, "WebhookCreate") == 0 && strcmp(field->name, "url") == 0 &&
           strcmp(candidate, "mailto:a@b.c") == 0; /* for the format email only */
}

static void compare_pattern(const struct shape *shape, const struct field *field,
                            struct arena *arena)
{
    /* The long numbers are cursors of runs and events, the last one has 64 letters. */
    /* clang-format off */
    static const char *const candidates[] = {
        "a", "acme", "a-b", "a--b", "-a", "a-", "A", "Acme", "a_b", "_a", "a.b", ".a", "a b", " a",
        "a ", "é", "0", "9-lives", "a/b", "a\nb", "a\n", "1.5", "01", "-1", "1e5", "10.00",
        "today", "24h", "a@b.c", "@", "https://example.com", "http://example.com", "mailto:a@b.c",
        "HTTPS://example.com", "https://", "mailto:", "ftp://example.com",
        "https://example.com/a b", "https://example.com/\u00e9", "a,b", "a,", ",", "7x", "4w",
        "1/2", "2026-01-15", "2026-01-15T09:30", "2026-01-15T09:30Z",
        "2026-01-15 09:30:00.123456+02:00", "2026-01-15t09:30:00,5z", "2026-01-15_09:30:00-0530",
        "2026-01-15T09:30:00\u221205:30", "2026-01-15T09:30:00+5", "2026-01-15T24:00:00Z",
        "2026-01-15T09:60:00Z", "2026-13-15T09:30:00Z", "2026-01-00T09:30:00Z",
        "2026-01-15T09:30:00.Z", "2026-01-15T09:30:00Z/2026-01-16T09:30Z", "2026-01-15T09:30:00Z/",
        "2026-01-15/2026-01-16", "0086AtWLjM03f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5b06xuaQ",
        "000000000070086AtWLjM00000000000g2AeUHr", HEAD_OF_A_LOG, "$", "^a$", "(a)", "[a]",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    };
    /* clang-format on */
    regex_t pattern;

    CHECK_INT(regcomp(&pattern, field->pattern, REG_EXTENDED | REG_NOSUB), 0);
    for (size_t i = 0; i < COUNT_OF(candidates); i++) {
        struct str text = changed_example(shape, field->name, as_json(candidates[i], arena), arena);
        struct str said = problems_of(shape, text, arena);
        bool fits = regexec(&pattern, candidates[i], 0, NULL, 0) == 0 &&
                    (field->max == 0 || strlen(candidates[i]) <= field->max);

        if (fits != (said.len == 0) && !depends_on_others(field, candidates[i], shape))
            fail_msg("%s.%s: the pattern %s '%s', the rules say: %.*s", shape->name, field->name,
                     fits ? "allows" : "forbids", candidates[i], STR_ARG(said));
    }
    regfree(&pattern);
}

TEST(a_pattern_allows_what_the_rules_of_its_shape_allow)
{
    struct schema_set requests = { 0 };
    struct arena arena;
    size_t compared = 0;

    arena_init(&arena);
    all_shapes(SHAPE_BODY | SHAPE_QUERY | SHAPE_PATH, &requests);
    for (size_t i = 0; i < requests.n; i++)
        for (size_t f = 0; f < requests.items[i]->n_fields; f++)
            if (requests.items[i]->fields[f].pattern != NULL) {
                compare_pattern(requests.items[i], &requests.items[i]->fields[f], &arena);
                compared++;
            }
    CHECK(compared >= 24);
    arena_done(&arena);
}

/* A T_LIST_STR with choices, of which only rules know that its items are checked. */
TEST(a_list_of_choices_refuses_every_other_word)
{
    struct schema_set requests = { 0 };
    struct arena arena;
    size_t compared = 0;

    arena_init(&arena);
    all_shapes(SHAPE_BODY, &requests);
    for (size_t i = 0; i < requests.n; i++)
        for (size_t f = 0; f < requests.items[i]->n_fields; f++) {
            const struct shape *shape = requests.items[i];
            const struct field *field = &shape->fields[f];
            struct str text;

            if (field->type != T_LIST_STR || field->choices == NULL)
                continue;
            text = changed_example(shape, field->name, STR_LIT("[\"no such word\"]"), &arena);
            CHECK(strstr(problems_of(shape, text, &arena).data, "no such word") != NULL);
            compared++;
        }
    CHECK(compared >= 1);
    arena_done(&arena);
}
