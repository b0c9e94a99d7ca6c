/* test_openapi.c - the document is JSON, has every route, and points only at what it holds. */
#include <yyjson.h>

#include "api/openapi.h"
#include "api/route.h"
#include "app/assemble.h"
#include "engine/feature.h"
#include "test.h"

static yyjson_doc *read_document(void)
{
    struct route_table table;
    yyjson_read_err problem;
    yyjson_doc *document;
    struct buf text;

    buf_init(&text, MIB(16));
    route_table_init(&table, features);
    openapi_write(&table, &text);
    route_table_done(&table);
    CHECK(!text.overflown && text.len > 0 && text.data[text.len - 1] == '\n');
    document = yyjson_read_opts(text.data, text.len, 0, NULL, &problem);
    if (document == NULL)
        fail_msg("%s at byte %zu", problem.msg, problem.pos);
    buf_done(&text);
    return document;
}

TEST(the_document_is_json_and_says_what_it_is)
{
    yyjson_doc *document = read_document();
    yyjson_val *root = yyjson_doc_get_root(document);

    assert_string_equal(yyjson_get_str(yyjson_obj_get(root, "openapi")), "3.1.0");
    assert_string_equal(yyjson_get_str(yyjson_ptr_get(root, "/info/version")), "1.0.0");
    yyjson_doc_free(document);
}

TEST(the_document_has_every_route_and_no_other)
{
    yyjson_doc *document = read_document();
    yyjson_val *paths = yyjson_obj_get(yyjson_doc_get_root(document), "paths");
    yyjson_obj_iter iter = yyjson_obj_iter_with(paths);
    yyjson_val *path;
    size_t operations = 0, described = 0;
    struct route_table table;

    while ((path = yyjson_obj_iter_next(&iter)) != NULL)
        operations += yyjson_obj_size(yyjson_obj_iter_get_val(path));
    route_table_init(&table, features);
    for (size_t i = 0; i < table.n; i++)
        described += !table.entries[i].route->page;
    CHECK_INT(operations, described);
    for (size_t i = 0; i < table.n; i++) {
        const struct route *route = table.entries[i].route;
        yyjson_val *item = yyjson_obj_get(paths, route->path), *operation;
        char method[8] = "";
        const char *name = route_method_name(route->method);

        if (route->page)
            continue;
        for (size_t j = 0; name[j] != '\0'; j++)
            method[j] = (char)(name[j] | 0x20);
        operation = yyjson_obj_get(item, method);
        assert_non_null(operation);
        assert_string_equal(yyjson_get_str(yyjson_obj_get(operation, "summary")), route->summary);
        CHECK(strncmp(yyjson_get_str(yyjson_obj_get(operation, "description")), route->description,
                      strlen(route->description)) == 0); /* and who may call */
        CHECK(yyjson_equals_str(yyjson_ptr_get(operation, "/tags/0"),
                                table.entries[i].feature->name));
        CHECK((yyjson_arr_size(yyjson_obj_get(operation, "security")) > 0) ==
              (route->auth != AUTH_OPEN));
        CHECK((yyjson_obj_get(operation, "requestBody") != NULL) ==
              (route->body != NULL || route->takes != NULL));
    }
    route_table_done(&table);
    yyjson_doc_free(document);
}

static bool is_word(const char *text)
{
    return text != NULL && text[0] != '\0' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(text);
}

/* One or more sentences, the last one with a full stop; or a title without one. */
static bool is_text(const char *text, bool is_sentence)
{
    return text != NULL && strlen(text) > 3 && text[0] != ' ' &&
           (text[strlen(text) - 1] == '.') == is_sentence;
}

TEST(every_operation_has_a_tag_an_id_of_its_own_a_summary_and_a_description)
{
    struct route_table table;

    route_table_init(&table, features);
    for (size_t i = 0; i < table.n; i++) {
        const struct route *route = table.entries[i].route;

        if (route->page)
            continue;
        if (!is_word(table.entries[i].feature->name) || !is_word(route->id) ||
            !is_text(route->summary, false) || !is_text(route->description, true))
            fail_msg("%s %s lacks a tag, an id, a summary or a description",
                     route_method_name(route->method), route->path);
        for (size_t j = 0; j < i; j++)
            if (!table.entries[j].route->page && strcmp(table.entries[j].route->id, route->id) == 0)
                fail_msg("%s is the id of two operations", route->id);
    }
    route_table_done(&table);
}

/* Every "$ref" anywhere in `value` names something of the document. */
static size_t check_references(yyjson_val *root, yyjson_val *value)
{
    size_t i, max, found = 0;
    yyjson_val *key, *item;

    if (yyjson_is_arr(value))
        yyjson_arr_foreach(value, i, max, item) found += check_references(root, item);
    if (yyjson_is_obj(value))
        yyjson_obj_foreach(value, i, max, key, item)
        {
            if (strcmp(yyjson_get_str(key), "$ref") == 0) {
                CHECK(yyjson_ptr_get(root, yyjson_get_str(item) + 1) != NULL);
                found++;
            } else {
                found += check_references(root, item);
            }
        }
    return found;
}

TEST(no_reference_of_the_document_leads_nowhere)
{
    yyjson_doc *document = read_document();
    yyjson_val *root = yyjson_doc_get_root(document);

    CHECK(check_references(root, root) > 100);
    yyjson_doc_free(document);
}
