/* openapi.c - the OpenAPI document, generated from the routes and their shapes. */
#include "api/openapi.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/openapi_answers.h"
#include "api/route.h"
#include "engine/feature.h"
#include "shape/schema.h"

#define TITLE   "Agent Telemetry and Registration API"
#define VERSION "1.0.0"

enum { DOCUMENT_MAX = 8 << 20 };

static const char *const methods[] = { [METHOD_GET] = "get",
                                       [METHOD_POST] = "post",
                                       [METHOD_PUT] = "put",
                                       [METHOD_PATCH] = "patch",
                                       [METHOD_DELETE] = "delete" };

static void add_parameter(struct buf *out, const struct shape *shape, const struct field *field,
                          const char *in, struct arena *arena)
{
    struct str example = schema_example_of(shape, field->name, arena);
    struct field undescribed = *field;

    undescribed.doc = NULL; /* it describes the parameter, not its type */
    buf_printf(out, "{\"name\":\"%s\",\"in\":\"%s\",\"required\":%s", field->name, in,
               (field->flags & F_REQUIRED) != 0 ? "true" : "false");
    if (field->doc != NULL) {
        buf_add_c(out, ",\"description\":");
        buf_add_json(out, str_of(field->doc));
    }
    buf_add_c(out, ",\"schema\":");
    schema_write_field(&undescribed, out);
    if (!str_is_null(example)) {
        buf_add_c(out, ",\"example\":");
        buf_add(out, example);
    }
    buf_add_char(out, '}');
}

static void add_parameters(struct buf *out, const struct route *route, struct arena *arena)
{
    const struct {
        const char *in;
        const struct shape *shape;
    } places[] = { { "path", route->params }, { "query", route->query } };
    bool any = false;

    for (size_t p = 0; p < COUNT_OF(places); p++)
        for (size_t i = 0; places[p].shape != NULL && i < places[p].shape->n_fields; i++) {
            buf_add_c(out, any ? "," : ",\"parameters\":[");
            any = true;
            add_parameter(out, places[p].shape, &places[p].shape->fields[i], places[p].in, arena);
        }
    if (any)
        buf_add_char(out, ']');
}

/* auth_authorize() decides so: a personal access token is its user, but neither signs in and out
 * nor makes tokens. */
static void add_security(struct buf *out, const struct route *route)
{
    const struct {
        const char *scheme;
        bool has;
    } rows[] = {
        { "HTTPBearer", route->auth < AUTH_USER || route->auth == AUTH_READ },
        { "PersonalAccessToken",
          route->auth > AUTH_USER || (route->auth == AUTH_USER && route->method == METHOD_GET) },
        { "SessionCookie", route->auth >= AUTH_USER },
    };
    bool more = false;

    buf_add_c(out, ",\"security\":[");
    for (size_t i = 0; route->auth != AUTH_OPEN && i < COUNT_OF(rows); i++) {
        if (!rows[i].has)
            continue;
        buf_printf(out, "%s{\"%s\":[]}", more ? "," : "", rows[i].scheme);
        more = true;
    }
    buf_add_char(out, ']');
}

/* The route's description, and who may call it. */
static void add_description(struct buf *out, const struct route *route)
{
    static const char *const callers[] = {
        [AUTH_OPEN] = "No authentication.",
        [AUTH_ANY_KEY] = "Needs a key of any kind.",
        [AUTH_REPORT] = "Needs a workspace key or an agent key.",
        [AUTH_OWN_AGENT] = "Needs the agent's own key.",
        [AUTH_READ_KEY] = "Needs a workspace key or a read-only key.",
        [AUTH_USER] = "Needs a signed-in user; keys are refused.",
        [AUTH_READ] =
            "Needs a workspace key or a read-only key, or a user with a role in the workspace.",
        [AUTH_MEMBER] = "Needs a user with a role in the workspace; keys are refused.",
        [AUTH_ADMIN] = "Needs an admin of the workspace; keys are refused.",
        [AUTH_PLATFORM] = "Needs a platform admin; keys are refused.",
    };
    char text[1024];

    (void)snprintf(text, sizeof(text), "%s %s", route->description, callers[route->auth]);
    buf_add_c(out, ",\"description\":");
    buf_add_json(out, str_of(text));
}

static void add_operation(struct buf *out, const struct route_entry *entry, struct arena *arena)
{
    const struct route *route = entry->route;

    buf_printf(out, "\"%s\":{\"tags\":[\"%s\"],\"operationId\":\"%s\",\"summary\":",
               methods[route->method], entry->feature->name, route->id);
    buf_add_json(out, str_of(route->summary));
    add_description(out, route);
    add_parameters(out, route, arena);
    openapi_add_request(out, route, arena);
    openapi_add_responses(out, route, arena);
    add_security(out, route);
    buf_add_char(out, '}');
}

/* The first entry with this path: all methods of a path are written together. */
static size_t first_of_path(const struct route_table *table, const char *path)
{
    size_t i = 0;

    while (strcmp(table->entries[i].route->path, path) != 0)
        i++;
    return i;
}

static void add_path(struct buf *out, const struct route_table *table, size_t first,
                     struct arena *arena)
{
    const char *path = table->entries[first].route->path;

    buf_printf(out, "\"%s\":{", path);
    for (size_t i = first; i < table->n; i++) {
        if (strcmp(table->entries[i].route->path, path) != 0)
            continue;
        if (i > first)
            buf_add_char(out, ',');
        add_operation(out, &table->entries[i], arena);
    }
    buf_add_char(out, '}');
}

static void add_paths(struct buf *out, const struct route_table *table, struct arena *arena)
{
    bool more = false;

    for (size_t i = 0; i < table->n; i++) {
        const struct route *route = table->entries[i].route;

        if (route->page || first_of_path(table, route->path) != i)
            continue;
        if (more)
            buf_add_char(out, ',');
        more = true;
        add_path(out, table, i, arena);
    }
}

static int compare_names(const void *a, const void *b)
{
    const struct shape *const *left = (const struct shape *const *)a;
    const struct shape *const *right = (const struct shape *const *)b;

    return strcmp((*left)->name, (*right)->name);
}

static void collect_from(const struct route *route, unsigned uses, struct schema_set *ret)
{
    const struct {
        enum shape_use use;
        const struct shape *shape;
    } used[] = {
        { SHAPE_BODY, route->body },      { SHAPE_QUERY, route->query },
        { SHAPE_PATH, route->params },    { SHAPE_ANSWER, route->answer },
        { SHAPE_ANSWER, route->refusal },
    };

    for (size_t i = 0; i < COUNT_OF(used); i++)
        if ((uses & used[i].use) != 0 && used[i].shape != NULL)
            schema_set_add(ret, used[i].shape);
}

void shapes_collect(const struct route_table *table, unsigned uses, struct schema_set *ret)
{
    if ((uses & SHAPE_ANSWER) != 0)
        schema_set_add(ret, &error_answer_shape);
    for (size_t i = 0; i < table->n; i++)
        collect_from(table->entries[i].route, uses, ret);
    qsort((void *)ret->items, ret->n, sizeof(ret->items[0]), compare_names);
}

static void add_schemas(struct buf *out, const struct route_table *table)
{
    struct schema_set set = { 0 };

    shapes_collect(table, SHAPE_BODY | SHAPE_ANSWER, &set);
    schema_write_validation_errors(out);
    for (size_t i = 0; i < set.n; i++) {
        buf_printf(out, ",\"%s\":", set.items[i]->name);
        shape_write_schema(set.items[i], out);
    }
}

/* The features that serve operations, in the order of their routes. */
static void add_tags(struct buf *out, const struct route_table *table)
{
    const struct feature *last = NULL;

    for (size_t i = 0; i < table->n; i++) {
        const struct feature *feature = table->entries[i].feature;

        if (table->entries[i].route->page || feature == last)
            continue;
        buf_printf(out, "%s{\"name\":\"%s\",\"description\":", last == NULL ? "" : ",",
                   feature->name);
        buf_add_json(out, str_of(feature->about));
        buf_add_char(out, '}');
        last = feature;
    }
}

static void new_line(struct buf *out, unsigned depth)
{
    buf_add_char(out, '\n');
    for (unsigned i = 0; i < depth; i++)
        buf_add_c(out, "  ");
}

/* Copies the JSON string that begins at `at`; returns the index after it. */
static size_t copy_string(struct str text, size_t at, struct buf *out)
{
    size_t end = at + 1;

    while (text.data[end] != '"')
        end += text.data[end] == '\\' ? 2 : 1;
    buf_add(out, str_from(text.data + at, end + 1 - at));
    return end + 1;
}

/* Indents compact JSON, so that a change of the document changes few lines. */
static void indent(struct str text, struct buf *out)
{
    unsigned depth = 0;

    for (size_t at = 0; at < text.len;) {
        char c = text.data[at];
        bool opens = c == '{' || c == '[', closes = c == '}' || c == ']';

        if (c == '"') {
            at = copy_string(text, at, out);
            continue;
        }
        if (closes)
            new_line(out, --depth);
        buf_add_char(out, c);
        at++;
        if (opens && (text.data[at] == '}' || text.data[at] == ']'))
            buf_add_char(out, text.data[at++]); /* empty: on one line */
        else if (opens)
            new_line(out, ++depth);
        else if (c == ',')
            new_line(out, depth);
        else if (c == ':')
            buf_add_char(out, ' ');
    }
    buf_add_char(out, '\n');
}

static const char head[] =
    "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"" TITLE "\",\"version\":\"" VERSION "\","
    "\"summary\":\"Agents report runs, KPIs and LLM usage; people read them back per tenant.\","
    "\"description\":\"Agents authenticate with a key: `Authorization: Bearer mst_…`. A success of "
    "a "
    "report means that it is durably stored. Every error is an object with `detail`: a sentence, "
    "or "
    "for 422 a list of problems. Requests count against the rate limit of the key; refused ones do "
    "not.\"},\"servers\":[{\"url\":\"/\",\"description\":\"The service that answers this "
    "document.\"}],\"tags\":[";

static const char schemes[] =
    "\"securitySchemes\":{\"HTTPBearer\":{\"type\":\"http\",\"scheme\":\"bearer\","
    "\"bearerFormat\":\"mst_…\",\"description\":\"The token of a key; each operation says of "
    "which kinds.\"},"
    "\"PersonalAccessToken\":{\"type\":\"http\",\"scheme\":\"bearer\",\"bearerFormat\":"
    "\"mst_pat_…\",\"description\":\"Acts as its user, with at most the role of the token.\"},"
    "\"SessionCookie\":{\"type\":\"apiKey\",\"in\":\"cookie\",\"name\":\"muster_session\","
    "\"description\":\"Changes also need the header X-CSRF-Token. Over TLS the name begins with "
    "__Host-.\"}}";

void openapi_write(const struct route_table *table, struct buf *out)
{
    BUF_SCOPED(compact, DOCUMENT_MAX);
    ARENA_SCOPED(arena);

    buf_add_c(&compact, head);
    add_tags(&compact, table);
    buf_add_c(&compact, "],\"paths\":{");
    add_paths(&compact, table, &arena);
    buf_add_c(&compact, "},\"components\":{\"schemas\":{");
    add_schemas(&compact, table);
    buf_add_c(&compact, "},");
    openapi_add_shared(&compact);
    buf_add_char(&compact, ',');
    buf_add_c(&compact, schemes);
    buf_add_c(&compact, "}}");
    indent(buf_str(&compact), out);
}

void openapi_init(struct openapi *o)
{
    lock_init(&o->lock);
    buf_init(&o->text, DOCUMENT_MAX);
}

void openapi_done(struct openapi *o)
{
    lock_acquire(&o->lock);
    buf_done(&o->text);
    lock_release(&o->lock);
    lock_done(&o->lock);
}

struct str openapi_text(struct openapi *o, const struct route_table *table)
{
    struct str text;

    lock_acquire(&o->lock);
    if (buf_str(&o->text).len == 0)
        openapi_write(table, &o->text);
    text = buf_str(&o->text);
    lock_release(&o->lock);
    assert(text.len > 0);
    return text;
}
